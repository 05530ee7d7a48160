"""Rollout storage of a run, local or remote: one columnar file per step, readable one rollout at a time."""
