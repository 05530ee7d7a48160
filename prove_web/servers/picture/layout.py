"""Layout of tools and servers in the picture, computed once per graph on the server and stored.

The edges between servers pull them together, then they are pushed apart until none touch; within its server a tool is
near those it has edges with. The result depends only on the tools and edges, not on their order.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from uuid import uuid4

import networkx as nx

from ..graph_queries import Names, Node, Proven

VERSION = 1  # increased when the same graph gets another layout
SPACING = 64.0  # between two tools of a server, in units of the picture
MARGIN = 90.0  # between two servers
WIDER = 1.45  # ratio of width to height, as of a page
ROUNDS = 120
Point = tuple[float, float]
Points = dict[str, Point]


@dataclass(frozen=True)
class Place:
    """A centre and a radius, in whole units; a tool's radius is 0."""

    x: int
    y: int
    r: int = 0


@dataclass(frozen=True)
class Layout:
    """Places by name, of servers and of tools; `key` identifies their graph."""

    key: str
    servers: Mapping[str, Place]
    tools: Mapping[str, Place]

    @cached_property
    def as_json(self) -> str:
        return json.dumps(asdict(self))


def key_of(nodes: Iterable[Node], names: Iterable[Names]) -> str:
    """Return the hash of a graph's tools and edges."""
    content = [VERSION, sorted((node.server, node.name) for node in nodes), sorted(names)]
    return blake2b(json.dumps(content).encode(), digest_size=8).hexdigest()


def load_layout(proven: Proven, folder: Path) -> Layout:
    """Return the layout of a graph from a file in `folder` named by its hash; it is created and stored if missing."""
    names = [edge.names for edge in proven.edges]
    key = key_of(proven.nodes, names)
    path = folder / f"layout-{key}.json"
    if found := read(path):
        return found
    made = lay_out(proven.nodes, names)
    partial = path.with_name(f"{path.name}.{uuid4().hex}")
    with suppress(OSError):  # an unwritable folder costs only time
        partial.write_text(made.as_json, "utf-8")
        partial.replace(path)
    return made


def read(path: Path) -> Layout | None:
    """Return the layout in a file; None if the file is missing or incomplete."""
    try:
        data = json.loads(path.read_text("utf-8"))
        servers, tools = ({name: Place(**place) for name, place in data[part].items()} for part in ("servers", "tools"))
        return Layout(data["key"], servers, tools)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def lay_out(nodes: Iterable[Node], names: Iterable[Names]) -> Layout:
    """Return the places of all servers and tools."""
    known, edges = sorted(nodes, key=lambda node: node.name), sorted(names)
    server = {node.name: node.server for node in known}
    inside = {
        each: place_tools([name for name in server if server[name] == each], edges)
        for each in sorted({*server.values()})
    }
    radii = {each: reach(points) + SPACING * 0.75 for each, points in inside.items()}
    middles = place_servers(radii, Counter((server[a], server[b]) for a, b in edges if server[a] != server[b]))
    servers = {each: Place(round(x), round(y), round(radii[each])) for each, (x, y) in middles.items()}
    tools = {
        name: Place(round(middles[each][0] + x), round(middles[each][1] + y))
        for each, points in inside.items()
        for name, (x, y) in points.items()
    }
    return Layout(key_of(known, edges), servers, tools)


def place_tools(tools: list[str], edges: list[Names]) -> Points:
    """Place the tools of a server around its centre: drawn together by their edges, then spread evenly over a disc."""
    own = nx.Graph()
    own.add_nodes_from(tools)
    own.add_edges_from((a, b) for a, b in edges if a in own and b in own)
    drawn = nx.spring_layout(own, pos=nx.circular_layout(own), iterations=80, threshold=0)
    points = {name: (float(x), float(y)) for name, (x, y) in drawn.items()}
    radius = SPACING * math.sqrt(len(tools)) * 0.62
    outwards = sorted(tools, key=lambda name: (round(math.hypot(*points[name]), 9), name))
    spread: Points = {}
    for rank, name in enumerate(outwards):
        x, y = points[name]
        angle, far = math.atan2(y, x), radius * math.sqrt((rank + 0.5) / len(tools))
        spread[name] = (far * math.cos(angle), far * math.sin(angle))
    return centre_points(separate_discs(spread, dict.fromkeys(tools, SPACING / 2)))


def place_servers(radii: Mapping[str, float], counts: Counter[Names]) -> Points:
    """Return the centres of the servers: near those with which they share many edges, none touching another."""
    if not radii:
        return {}
    graph = nx.Graph()
    graph.add_nodes_from(radii)
    for (a, b), count in sorted(counts.items()):
        graph.add_edge(a, b, weight=math.sqrt(count + counts[b, a]))
    drawn = nx.spring_layout(graph, pos=nx.circular_layout(graph), k=1.6 / math.sqrt(len(radii)), iterations=200)
    size = 1.1 * sum(radius + MARGIN for radius in radii.values()) / math.sqrt(len(radii))
    points = {name: (float(x) * size * WIDER, float(y) * size) for name, (x, y) in drawn.items()}
    return centre_points(separate_discs(points, {name: radius + MARGIN / 2 for name, radius in radii.items()}))


def separate_discs(points: Points, radii: Mapping[str, float]) -> Points:
    """Push overlapping discs apart, each by half, while all are drawn slightly to the centre, until none overlap."""
    placed, names = dict(points), sorted(points)
    for turn in range(6 * ROUNDS):
        if turn < ROUNDS:
            placed = {name: (x * 0.97, y * 0.955) for name, (x, y) in placed.items()}
        moved = False
        for first, a in enumerate(names):
            for b in names[first + 1 :]:
                (ax, ay), (bx, by) = placed[a], placed[b]
                dx, dy = bx - ax, by - ay
                if not dx and not dy:
                    dx, dy = 1e-3, 1e-3 * (first + 1)
                far, least = math.hypot(dx, dy), radii[a] + radii[b]
                if far >= least - 1e-6:
                    continue
                push = (least - far) / 2 / far
                placed[a], placed[b] = (ax - dx * push, ay - dy * push), (bx + dx * push, by + dy * push)
                moved = True
        if not moved and turn >= ROUNDS:
            break
    return placed


def centre_points(points: Points) -> Points:
    """Move the points so that the centre of their bounding box is the origin."""
    if not points:
        return {}
    xs, ys = [x for x, _ in points.values()], [y for _, y in points.values()]
    middle = (min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2
    return {name: (x - middle[0], y - middle[1]) for name, (x, y) in points.items()}


def reach(points: Points) -> float:
    """Return the largest distance of a point from the origin."""
    return max((math.hypot(x, y) for x, y in points.values()), default=0.0)
