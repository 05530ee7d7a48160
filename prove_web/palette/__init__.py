"""The command palette: everything of a project that has a name, found by words."""
