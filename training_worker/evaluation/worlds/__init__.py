"""Held-out worlds of our own servers: conversations made from a seed or from a dataset, run and judged live."""
