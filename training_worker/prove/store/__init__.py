"""Where the rollouts of a run are kept: one columnar file a step, readable one rollout at a time, near or far."""
