"""How long a point of a run takes to every browser that follows it: in a child, for it needs a whole site."""

from __future__ import annotations

from dataclasses import dataclass

from .pages import child


@dataclass(frozen=True)
class Followed:
    """Milliseconds from a point's telling to its arrival, over all `points` of all `sockets` on loopback.

    `whole` of the sockets were told each point once and in order, while `leaving` a second were cut off and came back.
    """

    sockets: int
    whole: int
    leaving: float
    points: int
    median: float
    p95: float
    p99: float
    most: float


def measure() -> list[Followed] | str:
    """One socket alone, all of them, and all while some are cut off; what went wrong in a line, where something did."""
    found = child("load_sockets", "--leaving", "20")
    return found if isinstance(found, str) else [Followed(**told) for told in found.values()]
