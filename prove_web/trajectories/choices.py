"""The splits, kinds, information levels and features of trajectories, as stored and as people read them."""

SPLITS = (("train", "Training"), ("held_out", "Held-out"))
KINDS = (("chain", "Chain"), ("missing_function", "Missing function"), ("irrelevance", "Irrelevance"))
LEVELS = (("complete", "Everything"), ("missing", "All but one value"), ("minimal", "No more than needed"))
FEATURES = (
    ("conditional", "Condition"),
    ("superlative", "Superlative"),
    ("several", "Several entities"),
    ("parallel", "Parallel calls"),
    ("raw_id", "Raw id"),
    ("second_goal", "Second goal"),
    ("sum", "Sum"),
    ("comparison", "Comparison"),
    ("correction", "Correction"),
    ("asked", "Clarification"),
    ("looked_up", "Look-up, not a question"),
    ("default", "Default, not a question"),
    ("arrives", "Tool arrives later"),
    ("declined", "Declined"),
    ("partly", "Declined in part"),
)


def feature_name(feature: str) -> str:
    """Return what a feature is called; one that is not known is called by its own name."""
    return dict(FEATURES).get(feature, feature.replace("_", " "))
