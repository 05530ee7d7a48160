"""Benchmarks that others wrote, run on any policy and scored by their own code."""
