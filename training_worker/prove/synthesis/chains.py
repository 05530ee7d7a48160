"""Draw a chain of tools from the graph around a given tool, so that every tool is asked for equally often."""

from __future__ import annotations

import networkx as nx

from mcp_servers.kit import Draw

LENGTHS = {2: 0.35, 3: 0.3, 4: 0.2, 5: 0.15}


def draw_chain(
    graph: nx.DiGraph,
    target: str,
    draw: Draw,
    implicit: bool = True,
    length: int | None = None,
) -> tuple[str, ...]:
    """2 to 5 different tools with `target` among them, each after those that feed it; shorter where the graph ends.

    With `implicit` a tool may also come after one that enables it. A tool without edges is joined by another one of its
    server.
    """
    kinds = ("explicit", "implicit") if implicit else ("explicit",)
    chain = [target]
    length = length or draw.weighted(tuple(LENGTHS), tuple(LENGTHS.values()))
    while len(chain) < length:
        before = [
            (source, tool)
            for tool in chain
            for source in sorted(graph.predecessors(tool))
            if source not in chain and graph.edges[source, tool]["kind"] in kinds
        ]
        after = [
            (tool, sink)
            for tool in chain
            for sink in sorted(graph.successors(tool))
            if sink not in chain and graph.edges[tool, sink]["kind"] in kinds
        ]
        if not before and not after:
            break
        if before and (not after or draw.chance(0.5)):
            source, tool = draw.choice(before)
            chain.insert(chain.index(tool), source)
        else:
            chain.append(draw.choice(after)[1])
    if chain == [target]:
        server = graph.nodes[target].get("server")
        near = [name for name, of in sorted(graph.nodes(data="server")) if of == server and name != target]
        chain += [draw.choice(near)] if near else []
    return tuple(chain)
