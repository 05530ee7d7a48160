"""Runs: launching, monitoring, comparing and evaluating them."""
