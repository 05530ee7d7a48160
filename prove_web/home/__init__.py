"""The home page of a project."""
