"""The splits, kinds and information levels of trajectories, as they are stored and as people read them."""

SPLITS = (("train", "Training"), ("held_out", "Held-out"))
KINDS = (("chain", "Chain"), ("missing_function", "Missing function"), ("irrelevance", "Irrelevance"))
LEVELS = (("complete", "Everything"), ("missing", "All but one value"), ("minimal", "No more than needed"))
