"""Sidebar of the picture: choices, or details of the selection."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from ..catalogue import entries
from ..graph_queries import Edge, Node, Proven
from .chains import Chain
from .colours import mark_of
from .params import GraphParams, format_pair


@dataclass(frozen=True)
class ServerRow:
    """A server in the sidebar: its tools, and its edges within and to other servers."""

    name: str
    tools: int
    inside: int
    outside: int


@dataclass(frozen=True)
class ToolRow:
    """A tool in the sidebar."""

    name: str
    server: str
    mark: str
    edges: int


@dataclass(frozen=True)
class EdgeRow:
    """An edge in the sidebar: `other` is the tool at its other end."""

    edge: Edge
    other: str
    server: str

    @property
    def address(self) -> str:
        return format_pair(self.edge.names)


def overview(proven: Proven) -> list[ServerRow]:
    tools = Counter(node.server for node in proven.nodes)
    inside = Counter(edge.producer_server for edge in proven.edges if not edge.crosses)
    outside = Counter(server for edge in proven.edges if edge.crosses for server in edge.servers)
    return [ServerRow(name, count, inside[name], outside[name]) for name, count in sorted(tools.items())]


def tools_of(proven: Proven, server: str) -> list[ToolRow]:
    degrees = Counter(name for edge in proven.edges for name in edge.names)
    nodes = (node for node in proven.nodes if node.server == server)
    return [ToolRow(node.name, node.server, mark_of(node), degrees[node.name]) for node in nodes]


def build_tool_details(proven: Proven, tool: str) -> dict[str, Any]:
    """Return a tool with its incoming and outgoing edges."""
    node: Node = proven.tools[tool]
    entry = entries().get(tool)
    return {
        "node": node,
        "entry": entry,
        "mark": mark_of(node),
        "fed_by": [
            EdgeRow(each, each.producer, each.producer_server) for each in proven.edges if each.consumer == tool
        ],
        "feeds": [EdgeRow(each, each.consumer, each.consumer_server) for each in proven.edges if each.producer == tool],
    }


def build_sidebar(proven: Proven, params: GraphParams, edge: Edge | None, note: str) -> dict[str, Any]:
    """Return the most specific selection: an edge, a tool, two servers, a server; else all servers."""
    if edge:
        return {"panel": "edge", "edge": edge}
    if params.tool:
        return {"panel": "tool", "note": note, **build_tool_details(proven, params.tool)}
    if params.between:
        rows = [EdgeRow(each, each.consumer, each.consumer_server) for each in params.edges(proven)]
        return {"panel": "between", "rows": rows}
    if params.server:
        return {"panel": "server", "tools": tools_of(proven, params.server)}
    return {"panel": "servers", "rows": overview(proven)}


@dataclass(frozen=True)
class ChainSelection:
    """The requested chains between two tools, and the selected one."""

    start: str
    end: str
    seed: int
    chains: list[Chain]
    chosen: int = 0  # from 1

    @property
    def has_path(self) -> bool:
        return bool(self.start or self.end)

    @property
    def next(self) -> int:
        """The seed of the next samples."""
        return self.seed + 1

    @property
    def chain(self) -> Chain | None:
        return self.chains[self.chosen - 1] if 1 <= self.chosen <= len(self.chains) else None
