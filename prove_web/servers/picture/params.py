"""URL parameters of the graph: edges, central tool and colours; and the edges that match them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.http import HttpRequest

from ..graph_queries import Edge, Names, Proven
from ..views.parts import read_search_param

HOPS = (1, 2, 3)
PAIR = "~"  # separates the two names of an edge in a URL
BY = {
    "kind": "Kind",
    "coverage": "Dataset coverage",
    "success": "Run success rate",
    "drift": "Drift between two runs",
}
LINK_PARAMS = ("q", "server", "kind", "between", "tool", "hops", "by", "dataset", "run", "against")


@dataclass(frozen=True)
class GraphParams:
    """State of the page: what both its table and its picture show, and how the picture is coloured.

    `between` are two servers, the producer's and the consumer's; `tool` is the centre of a neighbourhood of `hops`
    edges.
    """

    text: str = ""
    server: str = ""
    kind: str = ""
    between: Names | None = None
    tool: str = ""
    hops: int = 1
    by: str = "kind"

    @classmethod
    def from_request(cls, request: HttpRequest, proven: Proven) -> GraphParams:
        """Parse the URL; parameters that match nothing in the graph are ignored."""
        server, tool, hops, by = (read_search_param(request, name) for name in ("server", "tool", "hops", "by"))
        known = {node.server for node in proven.nodes}
        pair = pair_of(read_search_param(request, "between"))
        return cls(
            text=read_search_param(request, "q"),
            server=server if server in known else "",
            kind=read_search_param(request, "kind"),
            between=pair if pair and set(pair) <= known else None,
            tool=tool if tool in proven.tools else "",
            hops=int(hops) if hops in map(str, HOPS) else HOPS[0],
            by=by if by in BY else "kind",
        )

    @property
    def narrow(self) -> bool:
        """Whether the parameters leave anything out."""
        return bool(self.text or self.server or self.kind or self.between or self.tool)

    def edges(self, proven: Proven) -> list[Edge]:
        """Return the edges that the table lists and the picture draws."""
        found = proven.search(self.text, self.server, self.kind)
        if self.between:
            found = [edge for edge in found if edge.servers == self.between]
        if self.tool:
            far = distances(self.tool, [edge.names for edge in found], self.hops)
            found = [
                edge
                for edge in found
                if edge.producer in far and edge.consumer in far and min(map(far.get, edge.names)) < self.hops
            ]
        return found


def pair_of(text: str) -> Names | None:
    """Split two names that a URL joins in one parameter."""
    first, _, second = text.partition(PAIR)
    return (first, second) if first and second else None


def format_pair(names: Names) -> str:
    return PAIR.join(names)


def distances(tool: str, names: Iterable[Names], most: int) -> Mapping[str, int]:
    """Return the distance in edges, in either direction, of the tools within `most` edges of a tool."""
    near: dict[str, list[str]] = {}
    for a, b in names:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    far, waiting = {tool: 0}, deque([tool])
    while waiting:
        here = waiting.popleft()
        for other in near.get(here, ()) if far[here] < most else ():
            if other not in far:
                far[other] = far[here] + 1
                waiting.append(other)
    return far
