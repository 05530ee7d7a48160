"""Splits, kinds, information levels and features of trajectories: stored values and labels."""

SPLITS = (("train", "Training"), ("held_out", "Held-out"))
KINDS = (("chain", "Chain"), ("missing_function", "Missing function"), ("irrelevance", "Irrelevance"))
LEVELS = (("complete", "Complete"), ("missing", "One value missing"), ("minimal", "Minimal"))
FEATURES = (
    ("conditional", "Condition"),
    ("superlative", "Superlative"),
    ("several", "Multiple entities"),
    ("parallel", "Parallel calls"),
    ("raw_id", "Raw id"),
    ("second_goal", "Second goal"),
    ("sum", "Sum"),
    ("comparison", "Comparison"),
    ("correction", "Correction"),
    ("asked", "Clarification"),
    ("looked_up", "Lookup instead of question"),
    ("default", "Default instead of question"),
    ("arrives", "Tool added later"),
    ("declined", "Declined"),
    ("partly", "Partly declined"),
)


def feature_name(feature: str) -> str:
    """Return the label of a feature; an unknown one is labelled with its own name."""
    return dict(FEATURES).get(feature, feature.replace("_", " "))
