"""Basics of the engine: shared data types, files, processes, terminal output and logs. It imports no other folder."""
