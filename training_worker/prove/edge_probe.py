"""Calls made to prove an edge of the graph, taken down so that they can be made again; and their worlds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from mcp_servers.kit import Draw, Session
from mcp_servers.world import World

from .synthesis.sampler import Context, sample

WORLD_SEEDS = range(900_000_000, 900_000_006)
"""Worlds to prove edges in: no conversation is made in them."""
WORLDS_KEPT = 32  # pairs of the same servers come one after the other


@dataclass(frozen=True)
class Run:
    """One call made to prove an edge, what came of it, and the digests of the world before and after it."""

    arguments: dict[str, Any]
    ok: bool
    text: str
    before: str
    after: str


def run_of(session: Session[Any] | World, name: str, arguments: str | dict[str, Any]) -> Run:
    """Make a call and take it down."""
    given = json.loads(arguments) if isinstance(arguments, str) else arguments
    before = session.digest()
    reply = session.call(name, given)
    return Run(given, reply.ok, reply.text, before, session.digest())


@lru_cache(maxsize=WORLDS_KEPT)
def laboratory(seed: int, servers: tuple[str, ...]) -> tuple[World, Context]:
    """A world of some servers to prove edges in, and what its read-only tools show."""
    world = World.open(seed, servers, "small")
    return world, sample(world, Draw("laboratory", seed))
