"""Environments of a project: servers switched on and off, their checks and versions, and third-party servers."""
