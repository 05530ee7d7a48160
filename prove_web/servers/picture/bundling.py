"""Which edges are drawn one by one and which as bundles between servers: never more than a browser pans smoothly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ..graph_queries import Edge, Names

MOST = 1_500  # lines drawn at once


@dataclass(frozen=True)
class Bundle:
    """All edges from the tools of one server to those of another."""

    servers: Names
    edges: tuple[Edge, ...]


@dataclass(frozen=True)
class Drawn:
    """What is drawn of the edges found: each is there once, by itself or in a bundle."""

    edges: tuple[Edge, ...]
    bundles: tuple[Bundle, ...]

    @property
    def lines(self) -> int:
        return len(self.edges) + len(self.bundles)


def drawn(found: Sequence[Edge], opened: str = "", named: Collection[Names] = (), most: int = MOST) -> Drawn:
    """All edges by themselves where that is at most `most` lines; else bundled by their two servers.

    As many bundles are then undone as the lines allow: first those of the `opened` server, then those within one
    server, which would be a line to itself, the smallest first. An edge that is `named` is always drawn by itself.
    """
    if len(found) <= most:
        return Drawn(tuple(found), ())
    groups, alone = defaultdict[Names, list[Edge]](list), set(named)
    single = [edge for edge in found if edge.names in alone]
    for edge in found:
        if edge.names not in alone:
            groups[edge.servers].append(edge)
    lines = len(single) + len(groups)
    for servers in sorted(groups, key=lambda pair: (opened not in pair, pair[0] != pair[1], len(groups[pair]), pair)):
        a, b = servers
        more = len(groups[servers]) - 1
        if lines + more <= most and (a == b or opened in servers):
            lines += more
            single += groups.pop(servers)
    return Drawn(
        tuple(sorted(single, key=lambda edge: edge.names)),
        tuple(Bundle(servers, tuple(groups[servers])) for servers in sorted(groups)),
    )
