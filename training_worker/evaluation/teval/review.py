"""Review: the outcome of a call, as one of five choices."""

from __future__ import annotations

from .entries import Entry
from .score import Cosines, Verdict, build_malformed_verdict, verdict

CHOICES = "ABCDE"


def score(entry: Entry, text: str, cosines: Cosines) -> Verdict:
    """Score the first letter after the first colon, or the first letter of a text without a colon."""
    said = text[text.find(":") + 1 :].strip()
    if not said or said[0] not in CHOICES:
        return build_malformed_verdict(f"the answer chooses none of {', '.join(CHOICES)}")
    return verdict(float(said[0] == entry.truth["answer"]), "wrong_choice", said[0])


def format_truth(entry: Entry) -> str:
    """Return the ground truth as an answer."""
    return str(entry.truth["answer"])
