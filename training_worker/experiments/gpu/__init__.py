"""Experiments that need a GPU: a real model that learns, and the time of a step at the paper's size."""
