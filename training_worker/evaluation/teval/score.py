"""T-Eval's scores of an answer, and the interface of the rules of its dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from .entries import Entry

FULL = 1 - 1e-6  # a full score, within the rounding of cosines

Cosines = Callable[[Sequence[str], Sequence[str]], list[list[float]]]
"""Function that returns the cosines of each first text (rows) with each second text (columns)."""


class Rules(Protocol):
    """The rules of a dimension, as a module."""

    def score(self, entry: Entry, text: str, cosines: Cosines) -> Verdict:
        """Score an answer against the ground truth. May raise Unreadable."""

    def format_truth(self, entry: Entry) -> str:
        """Return the ground truth as an answer."""


@dataclass(frozen=True)
class Verdict:
    """A score from 0 to 1. For less than a full score, `failure` names the kind of failure and `why` gives details."""

    score: float
    failure: str = ""
    why: str = ""

    @property
    def passed(self) -> bool:
        return not self.failure


def verdict(score: float, failure: str, why: str = "") -> Verdict:
    """Return a verdict, with `failure` and `why` only for less than a full score."""
    return Verdict(1.0) if score >= FULL else Verdict(max(0.0, score), failure, why)


def build_malformed_verdict(why: str, score: float = 0.0) -> Verdict:
    """Return the verdict on an answer that T-Eval cannot parse."""
    return Verdict(score, "malformed_answer", why)
