"""Execution of jobs: a child process that does the work, and the supervisor in its parent."""
