"""Command palette: a search for everything of a project that has a name."""
