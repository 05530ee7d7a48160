"""What two policies do differently on the same conversations: which flipped, and where their calls part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .divergence import parted
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
    """One conversation under both; `parting` is the position of the first call that differs, None where none does."""

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
        """Of LENGTHS, by the most calls that either makes."""
        return str(min(LONGEST, max(len(self.first.calls), len(self.second.calls))))

    @property
    def place(self) -> int | None:
        """The parting, from 1."""
        return None if self.parting is None else self.parting + 1

    @property
    def calls(self) -> tuple[Call | None, Call | None]:
        """The two calls at which they part; None of one that makes no more."""
        return call_at(self.first, self.parting), call_at(self.second, self.parting)


def call_at(one: Attempt, at: int | None) -> Call | None:
    return one.calls[at] if at is not None and at < len(one.calls) else None


def pairs(first: Mapping[str, Attempt], second: Mapping[str, Attempt]) -> list[Pair]:
    """Conversations that both had: flips first, then those whose calls part, the earliest first; then by name."""
    both = first.keys() & second.keys()
    found = [Pair(first[key], second[key], parted(first[key].calls, second[key].calls)) for key in both]
    return sorted(found, key=order)


def order(pair: Pair) -> tuple[int, bool, int, int, str]:
    kind, key = list(KINDS).index(pair.kind), pair.first.key
    return kind, pair.parting is None, pair.parting or 0, len(key), key


@dataclass(frozen=True)
class Filter:
    """What is shown: a kind or "flipped", those that part alone, a tool that either calls, a length; "" is any."""

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
