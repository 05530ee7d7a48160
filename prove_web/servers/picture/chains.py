"""Chains from one tool to another along verified edges: the shortest ones, and random samples from a seed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice, pairwise

import networkx as nx

from mcp_servers.core import Draw

from ..graph_queries import Names

LONGEST = 5  # tools of a chain, as in datasets
SHORTEST, SAMPLED = 5, 8  # most that are listed
TRIES = 40  # walks per chain to sample


@dataclass(frozen=True)
class Chain:
    """Tools, each of which feeds or enables the next."""

    tools: tuple[str, ...]
    shortest: bool = False

    @property
    def names(self) -> tuple[Names, ...]:
        return tuple(pairwise(self.tools))

    @property
    def address(self) -> str:
        """Its tools as a single URL parameter."""
        return ",".join(self.tools)


def chains(names: Iterable[Names], start: str, end: str, seed: int = 0) -> list[Chain]:
    """Return the first few shortest chains of at most five tools, then distinct sampled ones, which are longer.

    The same edges, ends and seed give the same chains, for any order of the edges. There are none if no path exists.
    """
    graph = nx.DiGraph(sorted(names))
    if start == end or start not in graph or end not in graph:
        return []
    ahead = nx.single_source_shortest_path_length(graph.reverse(copy=False), end, cutoff=LONGEST - 1)
    if start not in ahead:
        return []
    shortest = islice(nx.all_shortest_paths(graph, start, end), SHORTEST)
    found = {tuple(path): None for path in shortest}
    known = len(found)
    draw = Draw("chains", seed, start, end)
    for _ in range(TRIES * SAMPLED):
        if len(found) == known + SAMPLED:
            break
        if walk := sample_walk(graph, start, end, ahead, draw):
            found.setdefault(walk)
    return [Chain(tools, place < known) for place, tools in enumerate(found)]


def sample_walk(graph: nx.DiGraph, start: str, end: str, ahead: dict[str, int], draw: Draw) -> tuple[str, ...] | None:
    """Return a random walk of at most five distinct tools to the end, or None; its length is drawn first."""
    length = draw.integer(ahead[start] + 1, LONGEST)
    walk = [start]
    while walk[-1] != end:
        left = length - len(walk)
        onward = [
            name
            for name in graph.successors(walk[-1])
            if name not in walk and ahead.get(name, LONGEST) < left and (name != end or left == 1)
        ]
        if not onward:
            return None
        walk.append(draw.choice(onward))
    return tuple(walk)
