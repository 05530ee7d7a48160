"""Serialization of the picture for the browser: places, looks, and the lines to draw."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from ..graph_queries import Edge, Names, Proven
from .chains import Chain
from .colours import Paint
from .layout import Layout
from .params import GraphParams

# Edges drawn individually or as bundles between servers: never more than a browser pans smoothly.

MOST = 1_500  # lines drawn at the same time


@dataclass(frozen=True)
class Bundle:
    """All edges from the tools of one server to those of another."""

    servers: Names
    edges: tuple[Edge, ...]


@dataclass(frozen=True)
class EdgeLines:
    """The lines to draw: each edge occurs once, by itself or in a bundle."""

    edges: tuple[Edge, ...]
    bundles: tuple[Bundle, ...]

    @property
    def lines(self) -> int:
        return len(self.edges) + len(self.bundles)


def bundle_edges(found: Sequence[Edge], opened: str = "", named: Collection[Names] = (), most: int = MOST) -> EdgeLines:
    """Return all edges individually if there are at most `most`; else bundle them by their two servers.

    As many bundles are then split as the limit allows: first those of the `opened` server, then those within one
    server, which would be a line to itself, the smallest first. An edge that is `named` is always drawn individually.
    """
    if len(found) <= most:
        return EdgeLines(tuple(found), ())
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
    return EdgeLines(
        tuple(sorted(single, key=lambda edge: edge.names)),
        tuple(Bundle(servers, tuple(groups[servers])) for servers in sorted(groups)),
    )


def serialize_graph(
    proven: Proven,
    layout: Layout,
    params: GraphParams,
    paint: Paint,
    opened: str,
    edge: Names | None,
    chain: Chain | None,
) -> dict[str, Any]:
    """Return the whole picture. Tools and servers are referred to by their index in `tools` and `servers`.

    `tools` are [name, server, x, y, look, text about it], `edges` [producer, consumer, look] and `bundles` [producer's
    server, consumer's server, count]. A selected edge or chain is drawn even if the filter excludes it, and the edges
    of a selected tool are not bundled.
    """
    found = params.edges(proven)
    chosen = ((edge,) if edge else ()) + (chain.names if chain else ())
    named = [names for names in dict.fromkeys(chosen) if names in proven.by_names]
    own = [each.names for each in found if params.tool in each.names]
    lines = bundle_edges(found, opened, {*named, *own})
    listed = {each.names for each in found}
    extra = [proven.by_names[names] for names in named if names not in listed]
    tools, present = (
        [node for node in proven.nodes if node.name in layout.tools],
        {node.server for node in proven.nodes},
    )
    servers = [name for name in layout.servers if name in present]
    at, server_at = {node.name: n for n, node in enumerate(tools)}, {name: n for n, name in enumerate(servers)}
    return {
        "hash": layout.key,
        "found": len(found),
        "total": len(proven.edges),
        "drawn": lines.lines,
        "looks": {
            "tools": [each.look for each in paint.tool_looks],
            "edges": [each.look for each in paint.edge_looks],
        },
        "servers": [[name, *place_of(layout, name)] for name in servers],
        "tools": [
            [
                node.name,
                server_at[node.server],
                layout.tools[node.name].x,
                layout.tools[node.name].y,
                paint.tools.get(node.name, 0),
                paint.notes.get(node.name, ""),
            ]
            for node in tools
        ],
        "edges": [
            [at[one.producer], at[one.consumer], paint.edges.get(one.names, 0)] for one in (*lines.edges, *extra)
        ],
        "bundles": bundles(lines, server_at),
        "chain": list(chain.tools) if chain else [],
    }


def place_of(layout: Layout, server: str) -> tuple[int, int, int]:
    place = layout.servers[server]
    return place.x, place.y, place.r


def bundles(lines: EdgeLines, at: dict[str, int]) -> list[list[int]]:
    return [[at[each.servers[0]], at[each.servers[1]], len(each.edges)] for each in lines.bundles]
