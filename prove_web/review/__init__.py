"""Review: queues of trajectories, the labels people give them, and how far people agree."""
