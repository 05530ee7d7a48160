"""The work behind a job: a child process that does it, and the parent that looks after the child."""
