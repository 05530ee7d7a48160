"""Synthesis of replay-validated conversations from live servers; no language model is needed."""
