"""Held-out worlds of our own servers: conversations made from a seed, or those of a data set, run and judged live."""
