"""The workers, which synthesize, score and train: `prove` is plain Python, and only `trainer` imports torch."""
