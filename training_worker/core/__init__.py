"""Basics of the engine: shared data types, files, processes and terminal output. It imports no other folder."""
