"""The tool dependency graph, whose edges are proven by running the tools in forked sessions."""
