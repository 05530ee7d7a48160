"""Robustness knobs: which tools a conversation offers, and which it hides (paper, section 2, step 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

import networkx as nx

from mcp_servers.core import Draw

from ..core.trajectory import Kind, Level
from ..dataflow.templates import PERSONAS

FEWEST_CANDIDATES = 5
WISHES = {2: 0.15, 3: 0.25, 4: 0.3, 5: 0.3}
Sort = Literal["asked", "looked_up", "default", "arrives", "declined", "partly"]
"""Sorts of conversations of the kind missing_function; see clarification.py."""
SORTS: dict[Sort, float] = {
    "asked": 0.2, "looked_up": 0.15, "default": 0.1, "arrives": 0.25, "declined": 0.2, "partly": 0.1
}  # fmt: skip


@dataclass(frozen=True)
class Knobs:
    """Shares and limits of conversations; by default those of the paper, where it gives any.

    `distractors` is the share that also offers tools of other servers, `distractor_count` the range of their number.
    `most` caps the offered tools, for a policy with a short context; `fewest` is the least number of tools of a
    conversation's servers.
    `levels` and `turns` are weights of information levels and of numbers of user turns, `wishes` of numbers of wishes,
    in at most `steps` steps, and `sorts` of the sorts of missing_function. `recovery` is the share of longer
    conversations in which something fails, `dates` the share in which days and times are in everyday words.
    """

    distractors: float = 0.4
    distractor_count: tuple[int, int] = (3, 8)
    enum_stripping: float = 0.3
    irrelevance: float = 0.05
    missing_function: float = 0.11
    most: int = 64
    fewest: int = 15
    levels: Mapping[Level, float] = field(default_factory=lambda: {"complete": 0.6, "missing": 0.2, "minimal": 0.2})
    turns: Mapping[int, float] = field(default_factory=lambda: {2: 0.65, 3: 0.35})
    wishes: Mapping[int, float] = field(default_factory=lambda: WISHES)
    sorts: Mapping[Sort, float] = field(default_factory=lambda: SORTS)
    steps: int = 6
    personas: tuple[str, ...] = tuple(PERSONAS)
    recovery: float = 0.15
    dates: float = 0.5

    def __post_init__(self) -> None:
        if self.most < FEWEST_CANDIDATES:
            raise ValueError(
                f"A conversation calls up to {FEWEST_CANDIDATES} tools, so `most` must be at least as large."
            )


PAPER = Knobs()
"""Information levels and turns as in the paper (section 2, step 3); the paper does not give the shares of failures,
dates, wishes and sorts."""
TINY = replace(PAPER, most=8, fewest=8, distractors=0.1, distractor_count=(1, 2))
"""As PAPER, for a small policy: few tools."""


def draw_kind(knobs: Knobs, draw: Draw) -> Kind:
    rest = 1 - knobs.irrelevance - knobs.missing_function
    kinds: tuple[Kind, ...] = ("irrelevance", "missing_function", "chain")
    return draw.choose_weighted(kinds, (knobs.irrelevance, knobs.missing_function, rest))


LINKED = 0.35  # share of conversations that may use a second server which edges lead to


def draw_servers(graph: nx.DiGraph, about: str, knobs: Knobs, draw: Draw) -> tuple[str, ...]:
    """Return the servers of a conversation about a tool: its own, perhaps a linked one, and related ones.

    Related servers are added until all have at least `knobs.fewest` tools.
    """
    own = graph.nodes[about]["server"]
    servers, sizes = [own], Counter(server for _, server in graph.nodes(data="server"))
    near = {graph.nodes[name]["server"] for name in (*graph.predecessors(about), *graph.successors(about))}
    if (linked := sorted(near - {own})) and draw.chance(LINKED):
        servers.append(draw.choice(linked))
    while sum(sizes[name] for name in servers) < knobs.fewest and len(servers) < len(sizes):
        rest = [name for name in sorted(sizes) if name not in servers]
        servers.append(draw.choose_weighted(rest, [1 + links(graph, own, name) for name in rest]))
    return tuple(sorted(servers))


@lru_cache(maxsize=1_024)
def links(graph: nx.DiGraph, one: str, other: str) -> int:
    """Return the number of edges between the tools of two servers. Cached, since graphs are immutable once built."""
    between = {one, other}
    return sum({graph.nodes[a]["server"], graph.nodes[b]["server"]} == between for a, b in graph.edges)


def draw_toolset(
    graph: nx.DiGraph, servers: Sequence[str], kind: Kind, about: str, knobs: Knobs, draw: Draw
) -> tuple[str, ...]:
    """Return the tools offered to the model: all of the conversation's servers, and distractors of others, shuffled.

    For an irrelevant wish, only tools of other servers are offered; for a missing function, its tool is hidden.
    """
    sizes = Counter(server for _, server in graph.nodes(data="server"))
    if kind == "irrelevance":
        others = draw.shuffle_items(
            [name for name in sorted(sizes) if name not in servers and not has_edge_to_server(graph, about, name)]
        )
        servers, count = others[:1], 1
        while sum(sizes[name] for name in servers) < knobs.fewest and count < len(others):
            servers, count = others[: count + 1], count + 1
    tools = [name for name, server in graph.nodes(data="server") if server in servers]
    if kind == "missing_function":
        tools.remove(about)
    if draw.chance(knobs.distractors):
        far = [name for name, server in graph.nodes(data="server") if server not in servers and name != about]
        if kind == "irrelevance":
            far = [name for name in far if graph.nodes[name]["server"] != graph.nodes[about]["server"]]
        tools += draw.sample(far, draw.integer(*knobs.distractor_count))
    return tuple(draw.shuffle_items(tools))


def has_edge_to_server(graph: nx.DiGraph, about: str, server: str) -> bool:
    """Return whether an edge links a tool to a server."""
    return any(graph.nodes[name]["server"] == server for name in (*graph.predecessors(about), *graph.successors(about)))
