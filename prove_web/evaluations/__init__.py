"""Evaluations of models on benchmarks: reports, items and comparisons."""
