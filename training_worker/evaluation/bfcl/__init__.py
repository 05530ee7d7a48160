"""BFCL multi-turn from its own wheel: entries, executor and checker run in a child process of its environment."""
