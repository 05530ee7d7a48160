"""Conversations as a model reads and writes them: messages, tool schemas, call formats and the chat model protocol."""
