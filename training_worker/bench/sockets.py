"""The latency of a run's points to every browser that follows it, from a child process that runs the site."""

from __future__ import annotations

from dataclasses import dataclass

from .pages import child


@dataclass(frozen=True)
class SocketLatency:
    """Milliseconds from sending a point to its arrival, over all `points` of all `sockets` on loopback.

    `complete` sockets received each point once and in order, while `leaving` per second were cut off and reconnected.
    """

    sockets: int
    complete: int
    leaving: float
    points: int
    median: float
    p95: float
    p99: float
    most: float


def measure() -> list[SocketLatency] | str:
    """Return figures for one socket, for all, and for all while some are cut off; or a one-line error."""
    found = child("load_sockets", "--leaving", "20")
    return found if isinstance(found, str) else [SocketLatency(**fields) for fields in found.values()]
