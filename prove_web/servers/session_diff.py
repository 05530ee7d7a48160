"""Comparison of two moments, of one session or of two: shared calls, other calls, and rows that differ."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from .models import LiveSession, SessionCall
from .tables import RowChange, differences
from .world_cache import moments

MAX_ROWS = 200


@dataclass(frozen=True)
class Side:
    """A session after its first `at` calls."""

    session: LiveSession
    at: int

    @property
    def word(self) -> str:
        return f"{self.session.pk}:{self.at}"


def sides(text: str) -> tuple[int, int | None] | None:
    """Parse a session and moment such as `12:3`; `12` is the newest moment. None for invalid text."""
    session, _, at = text.partition(":")
    if not (session.isascii() and session.isdigit() and len(session) < 16):
        return None
    return int(session), int(at) if at.isascii() and at.isdigit() and len(at) < 10 else None


def compare_moments(one: Side, other: Side) -> dict[str, Any]:
    """Return the comparison of both moments. Raises NotRebuilt."""
    first, second = moments(one.session)[one.at].world, moments(other.session)[other.at].world
    mine, theirs = list_calls(one), list_calls(other)
    common = len(list(takewhile(lambda pair: equal(*pair), zip(mine, theirs, strict=False))))
    rows = list(differences(first, second))
    tables: dict[str, list[RowChange]] = {}
    for row in rows:
        tables.setdefault(f"{row.server}.{row.table}", []).append(row)
    return {
        "one": one,
        "other": other,
        "common": mine[:common],
        "apart": ((one, mine[common:]), (other, theirs[common:])),
        "tables": [(name, found[:MAX_ROWS], len(found)) for name, found in tables.items()],
        "rows": len(rows),
        "digests": (first.digest(), second.digest()),
        "same": first.digest() == second.digest(),
        "clocks": (first.now, second.now),
        "other_world": (one.session.seed, one.session.size) != (other.session.seed, other.session.size),
        "only": sorted(set(one.session.servers) ^ set(other.session.servers)),
    }


def list_calls(side: Side) -> list[SessionCall]:
    return list(side.session.calls.filter(position__lte=side.at))


def equal(one: SessionCall, other: SessionCall) -> bool:
    return (one.tool, one.arguments, one.text) == (other.tool, other.arguments, other.text)
