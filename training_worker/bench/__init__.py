"""Benchmarks of single parts, each with a baseline or a peer measured in the same run: `make bench`."""
