"""Runs: starting them, and later watching, comparing and evaluating them."""
