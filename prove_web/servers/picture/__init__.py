"""The picture of the dependency graph: where things lie, what is drawn, how it is coloured, chains through it."""
