"""Review of trajectories: queues, the labels that people give, and their agreement."""
