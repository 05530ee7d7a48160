"""A suite of behaviours, one file each: what a policy should do, or leave, where a task has a catch."""
