"""What T-Eval makes of one answer, and what the rules of its dimensions have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from .entries import Entry

FULL = 1 - 1e-6  # what counts as a full mark: cosines are rounded to that

Cosines = Callable[[Sequence[str], Sequence[str]], list[list[float]]]
"""The cosine of each text of the first with each of the second, rows as in the first."""


class Rules(Protocol):
    """The rules of a dimension, as a module."""

    def score(self, entry: Entry, text: str, cosines: Cosines) -> Verdict:
        """An answer against the ground truth. May raise Unreadable."""

    def format_truth(self, entry: Entry) -> str:
        """The ground truth as an answer."""


@dataclass(frozen=True)
class Verdict:
    """A score from 0 to 1. `failure` names what it lacks to a full mark, `why` says more."""

    score: float
    failure: str = ""
    why: str = ""

    @property
    def passed(self) -> bool:
        return not self.failure


def verdict(score: float, failure: str, why: str = "") -> Verdict:
    """`failure` and `why` are told where the score is no full mark."""
    return Verdict(1.0) if score >= FULL else Verdict(max(0.0, score), failure, why)


def malformed(why: str, score: float = 0.0) -> Verdict:
    """Of an answer that T-Eval cannot read."""
    return Verdict(score, "malformed_answer", why)
