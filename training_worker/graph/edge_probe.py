"""Recorded calls that prove an edge of the dependency graph, and the worlds they run in."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from mcp_servers.core import Draw, Session
from mcp_servers.world import World

from .sampler import Context, sample

WORLD_SEEDS = range(900_000_000, 900_000_006)
"""Seeds of the worlds in which edges are proven; no conversation is synthesized in them."""
WORLD_CACHE_SIZE = 32  # a small cache is enough, because pairs of the same servers are processed together


@dataclass(frozen=True)
class Run:
    """One call made to prove an edge, its result, and the digests of the world before and after it."""

    arguments: dict[str, Any]
    ok: bool
    text: str
    before: str
    after: str


def run_of(session: Session[Any] | World, name: str, arguments: str | dict[str, Any]) -> Run:
    """Make a call and record it."""
    given = json.loads(arguments) if isinstance(arguments, str) else arguments
    before = session.digest()
    reply = session.call(name, given)
    return Run(given, reply.ok, reply.text, before, session.digest())


@lru_cache(maxsize=WORLD_CACHE_SIZE)
def laboratory(seed: int, servers: tuple[str, ...]) -> tuple[World, Context]:
    """Return a world of some servers in which edges are proven, and the values its read-only tools return."""
    world = World.open(seed, servers, "small")
    return world, sample(world, Draw("laboratory", seed))
