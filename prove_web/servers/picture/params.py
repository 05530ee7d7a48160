"""What an address of the graph asks for: which edges, around which tool, how coloured; and the edges that fit it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.http import HttpRequest

from ..graph_queries import Edge, Names, Proven
from ..views.parts import typed

HOPS = (1, 2, 3)
PAIR = "~"  # between the two names of an edge in an address
BY = {
    "kind": "Kind",
    "coverage": "Dataset coverage",
    "success": "Run success rate",
    "drift": "Drift between two runs",
}
KEPT = ("q", "server", "kind", "between", "tool", "hops", "by", "dataset", "run", "against")


@dataclass(frozen=True)
class GraphParams:
    """The state of the page: what its table and its picture both show, and how the picture is coloured.

    `between` are two servers, the giver's and the taker's; `tool` is the middle of a neighbourhood of `hops` edges.
    """

    text: str = ""
    server: str = ""
    kind: str = ""
    between: Names | None = None
    tool: str = ""
    hops: int = 1
    by: str = "kind"

    @classmethod
    def of(cls, request: HttpRequest, proven: Proven) -> GraphParams:
        """What is none of the graph's is not asked for."""
        server, tool, hops, by = (typed(request, name) for name in ("server", "tool", "hops", "by"))
        known = {node.server for node in proven.nodes}
        pair = pair_of(typed(request, "between"))
        return cls(
            text=typed(request, "q"),
            server=server if server in known else "",
            kind=typed(request, "kind"),
            between=pair if pair and set(pair) <= known else None,
            tool=tool if tool in proven.tools else "",
            hops=int(hops) if hops in map(str, HOPS) else HOPS[0],
            by=by if by in BY else "kind",
        )

    @property
    def narrow(self) -> bool:
        """Whether it leaves anything out."""
        return bool(self.text or self.server or self.kind or self.between or self.tool)

    def edges(self, proven: Proven) -> list[Edge]:
        """The edges that the table lists and the picture draws."""
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
    """Two names that stand in an address as one."""
    first, _, second = text.partition(PAIR)
    return (first, second) if first and second else None


def written(names: Names) -> str:
    return PAIR.join(names)


def distances(tool: str, names: Iterable[Names], most: int) -> Mapping[str, int]:
    """How many edges away from a tool, in whichever direction, those are that lie at most so far."""
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
