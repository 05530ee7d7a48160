"""Dataflow of a conversation: where each argument value comes from, and how a text says a value."""
