"""Behaviour comparison of two policies on the same conversations: flipped outcomes and first differing calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prove_web.core.divergence import find_divergence

from .eval_rollouts import Call
from .sources import Attempt

KINDS = {
    "lost": "Regressed",
    "gained": "Fixed",
    "failed": "Both failed",
    "passed": "Both passed",
}
FLIPS = ("lost", "gained")
LENGTHS = {"0": "No calls", "1": "1 call", "2": "2 calls", "3": "3 calls", "4": "4 calls", "5": "5 or more"}
LONGEST = 5


@dataclass(frozen=True)
class Pair:
    """One conversation under both policies; `parting` is the index of the first differing call, or None."""

    first: Attempt
    second: Attempt
    parting: int | None

    @property
    def kind(self) -> str:
        if self.first.passed == self.second.passed:
            return "passed" if self.first.passed else "failed"
        return "lost" if self.first.passed else "gained"

    @property
    def title(self) -> str:
        return KINDS[self.kind]

    @property
    def flipped(self) -> bool:
        return self.kind in FLIPS

    @property
    def tools(self) -> set[str]:
        return {name for name, _ in (*self.first.calls, *self.second.calls)}

    @property
    def length(self) -> str:
        """Return the key in LENGTHS for the larger of the two call counts."""
        return str(min(LONGEST, max(len(self.first.calls), len(self.second.calls))))

    @property
    def place(self) -> int | None:
        """Return the position of the first differing call, counted from 1."""
        return None if self.parting is None else self.parting + 1

    @property
    def calls(self) -> tuple[Call | None, Call | None]:
        """Return the two calls at the first difference; None for a side that has no call there."""
        return call_at(self.first, self.parting), call_at(self.second, self.parting)


def call_at(one: Attempt, at: int | None) -> Call | None:
    return one.calls[at] if at is not None and at < len(one.calls) else None


def pairs(first: Mapping[str, Attempt], second: Mapping[str, Attempt]) -> list[Pair]:
    """Return the conversations of both: flips first, then those with differing calls, earliest first, then by name."""
    both = first.keys() & second.keys()
    found = [Pair(first[key], second[key], find_divergence(first[key].calls, second[key].calls)) for key in both]
    return sorted(found, key=order)


def order(pair: Pair) -> tuple[int, bool, int, int, str]:
    kind, key = list(KINDS).index(pair.kind), pair.first.key
    return kind, pair.parting is None, pair.parting or 0, len(key), key


@dataclass(frozen=True)
class Filter:
    """The list filter; "" is any.

    `kind` is of KINDS or "flipped", `tool` is one that either side calls, and `apart` shows only pairs whose calls
    differ.
    """

    kind: str = ""
    tool: str = ""
    length: str = ""
    apart: bool = False

    def __call__(self, found: Sequence[Pair]) -> list[Pair]:
        return [pair for pair in found if self.shows(pair)]

    def shows(self, pair: Pair) -> bool:
        return (
            self.kind in ("", pair.kind, "flipped" if pair.flipped else pair.kind)
            and (not self.tool or self.tool in pair.tools)
            and self.length in ("", pair.length)
            and (not self.apart or pair.parting is not None)
        )
