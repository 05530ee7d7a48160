"""Confined processes that run a benchmark's own code in its own environment, with JSON lines as protocol."""
