"""Evaluations of models on benchmarks: their reports, their items, and models side by side."""
