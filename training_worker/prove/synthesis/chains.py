"""Draw a chain of tools from the graph around a given tool, so that every tool is asked for equally often."""

from __future__ import annotations

from math import sqrt

import networkx as nx

from mcp_servers.kit import Draw

LENGTHS = {2: 0.35, 3: 0.3, 4: 0.2, 5: 0.15}
Edges = list[tuple[str, str]]


def draw_chain(
    graph: nx.DiGraph,
    target: str,
    draw: Draw,
    every_edge: bool = True,
    length: int | None = None,
) -> tuple[str, ...]:
    """2 to 5 different tools with `target` among them, each after those that feed it; shorter where the graph ends.

    With `every_edge` a tool may also come after one that enables it or shows it a plain value, and edges are drawn
    evenly; else only edges that give an id are followed. A tool without edges is joined by another one of its server.
    A graph for one chain alone (`graph.along`) gives that one.
    """
    if alone := graph.graph.get("chain"):
        return tuple(alone)
    chain = [target]
    length = length or draw.weighted(tuple(LENGTHS), tuple(LENGTHS.values()))
    while len(chain) < length:
        before, after = around(graph, chain, every_edge)
        if not before and not after:
            break
        if every_edge:
            source, sink = draw.weighted(before + after, weights(graph, before, after))
        else:
            source, sink = draw.choice(before if before and (not after or draw.chance(0.5)) else after)
        if source in chain:
            chain.append(sink)
        else:
            chain.insert(chain.index(sink), source)
    if chain == [target]:
        server = graph.nodes[target].get("server")
        near = [name for name, of in sorted(graph.nodes(data="server")) if of == server and name != target]
        chain += [draw.choice(near)] if near else []
    return tuple(chain)


def around(graph: nx.DiGraph, chain: list[str], every_edge: bool) -> tuple[Edges, Edges]:
    """The edges that lead from another tool into a chain, and those that lead out of it."""
    before = [(source, tool) for tool in chain for source in sorted(graph.predecessors(tool)) if source not in chain]
    after = [(tool, sink) for tool in chain for sink in sorted(graph.successors(tool)) if sink not in chain]
    return followed(graph, before, every_edge), followed(graph, after, every_edge)


def followed(graph: nx.DiGraph, edges: Edges, every_edge: bool) -> Edges:
    return [edge for edge in edges if every_edge or graph.edges[edge]["feeds"]]


def weights(graph: nx.DiGraph, before: Edges, after: Edges) -> list[float]:
    """A tool with many edges is gone to more readily: drawn from its neighbours alone, each would come too seldom."""
    return [sqrt(graph.degree(name)) for name in (*(source for source, _ in before), *(sink for _, sink in after))]
