"""Picture of the dependency graph: layout, lines to draw, colours, and chains through it."""
