"""Behaviour suite, one file per behaviour: what a policy should do, or avoid, where a task has a catch."""
