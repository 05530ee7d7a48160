"""Data sets of others: one file a format, each of which turns a row into a conversation."""
