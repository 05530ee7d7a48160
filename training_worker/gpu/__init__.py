"""What a machine with a GPU is for: a real model that learns, and the time of a step at the paper's size."""
