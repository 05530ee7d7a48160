"""The rooms that synthesize, score and train: `prove` is plain Python, `trainer` is the only one that knows torch."""
