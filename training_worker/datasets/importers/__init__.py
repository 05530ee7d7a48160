"""Importers for external datasets: one module per format, which converts a row to a conversation."""
