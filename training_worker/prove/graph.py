"""Which tool can feed which: a directed graph whose edges are proven by running them in forked sessions.

A pair (A, B) is a candidate when A's result carries an id type B requires. It becomes an *explicit* edge when B, in a
fork, does what is asked with an id that A gave, and refuses an id that another world gave. Where B also refuses the
same id when A was not run, A had created it: the edge is `created`. An *implicit* edge says that A must run first for
another reason, see `enabling`. What was run is kept as evidence. (Paper, section 2, step 1, which asks a language model
about each pair instead.)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import networkx as nx

from mcp_servers.catalogue import SERVERS, TOOLS, fingerprint
from mcp_servers.kit import Draw, Tool
from mcp_servers.world import World

from .enabling import Enabling, enablings
from .runs import WORLD_SEEDS, Run, run_of
from .shapes import found_in
from .synthesis.sampler import Context, NothingFits, fill, sample

TRIES_PER_WORLD = 6
FORMAT = 2  # goes up when an edge comes to say something else, so that no graph of before is taken for one of now


@dataclass(frozen=True)
class Proof:
    """The runs behind an edge: B with an id A gave, with the id of another world, with the same id but without A."""

    seed: int
    producer: Run
    with_output: Run
    with_foreign: Run
    without: Run

    @property
    def holds(self) -> bool:
        return self.with_output.ok and not self.with_foreign.ok

    @property
    def created(self) -> bool:
        return self.holds and not self.without.ok


def candidates(tools: Iterable[Tool]) -> list[tuple[Tool, Tool, str, str]]:
    """Every (A, B, parameter, id type) where A gives an id type that B's parameter requires."""
    known = list(tools)
    return [
        (a, b, parameter, b.ids[parameter])
        for b in known
        for parameter in b.required
        if parameter in b.ids
        for a in known
        if a is not b and b.ids[parameter] in a.produces
    ]


def prove(a: Tool, b: Tool, parameter: str, id_type: str) -> Proof | None:
    """Run the pair until the edge is proven or the tries are used up; the last proof that did not hold, or None."""
    last = None
    servers = servers_of(a, b)
    for seed in WORLD_SEEDS:
        opening, context = laboratory(seed, servers)
        draw = Draw("proof", seed, a.name, b.name, parameter)
        for number in range(TRIES_PER_WORLD):
            more = extras(b) if number % 2 else ()
            proof = attempt(seed, opening, context, draw, (a, b, parameter, id_type), more)
            if proof is not None and proof.holds:
                return proof
            last = proof or last
    return last


def extras(tool: Tool) -> tuple[str, ...]:
    """The optional parameters that anybody may fill: a tool may need one of several."""
    kept = set(tool.required) | set(tool.ids) | tool.sensitive
    return tuple(name for name in tool.input_schema["properties"] if name not in kept)


def attempt(
    seed: int,
    opening: World,
    context: Context,
    draw: Draw,
    pair: tuple[Tool, Tool, str, str],
    optional: tuple[str, ...] = (),
) -> Proof | None:
    """One try: A in a fork, then B in forks of what A left and of what was before."""
    a, b, parameter, id_type = pair
    after = opening.fork()
    try:
        producer = run_of(after, a.name, fill(a, {}, context, draw, after))
        if not producer.ok:
            return None
        given = [found.id for found in found_in(a.name, json.loads(producer.text)) if found.type == id_type]
        if not given:
            return None
        own = fill(b, {parameter: as_taken(b, parameter, draw.choice(given))}, context, draw, after, optional)
    except NothingFits:
        return None
    _, elsewhere = laboratory(seed + 1, servers_of(a, b))
    foreign = next((id for id in elsewhere.ids.get(id_type, {}) if id not in context.ids.get(id_type, {})), "NONE-0000")
    return Proof(
        seed,
        producer,
        run_of(after.fork(), b.name, own),
        run_of(after.fork(), b.name, own | {parameter: as_taken(b, parameter, foreign)}),
        run_of(opening.fork(), b.name, own),
    )


def as_taken(tool: Tool, parameter: str, id: str) -> Any:
    """An id as a parameter takes it: in a list of its own where it takes several."""
    return [id] if tool.input_schema["properties"][parameter].get("type") == "array" else id


def servers_of(*tools: Tool) -> tuple[str, ...]:
    return tuple(sorted({TOOLS[tool.name][0].name for tool in tools}))


@cache
def laboratory(seed: int, servers: tuple[str, ...]) -> tuple[World, Context]:
    """A world of some servers to prove edges in, and what its read-only tools show."""
    world = World.open(seed, servers, "small")
    return world, sample(world, Draw("laboratory", seed))


def build(
    progress: Callable[[int, int], None] = lambda done, total: None, servers: Collection[str] = tuple(SERVERS)
) -> nx.DiGraph:
    """The graph over the tools of some servers: nodes with their server, edges with their kind and evidence.

    An *explicit* edge has proofs by parameter in `feeds`, an *implicit* one the runs in `enables`; one that is both is
    explicit. Pairs unproven stay out. What is proven of two tools does not depend on which other servers there are.
    """
    graph = nx.DiGraph(fingerprint=fingerprint(servers), unproven=[])
    tools = {name: (server, tool) for name, (server, tool) in TOOLS.items() if server.name in servers}
    for name, (server, tool) in tools.items():
        graph.add_node(name, server=server.name, writes=tool.writes)
    pairs = candidates(tool for _, tool in tools.values())
    for done, (a, b, parameter, id_type) in enumerate(pairs, 1):
        proof = prove(a, b, parameter, id_type)
        if proof is not None and proof.holds:
            if not graph.has_edge(a.name, b.name):
                graph.add_edge(a.name, b.name, kind="explicit", id_type=id_type, feeds={}, created=False, enables=None)
            edge = graph.edges[a.name, b.name]
            edge["feeds"][parameter] = asdict(proof)
            edge["created"] = edge["created"] or proof.created
        else:
            graph.graph["unproven"].append([a.name, b.name, parameter])
        progress(done, len(pairs) + len(servers))
    for done, name in enumerate((name for name in SERVERS if name in servers), len(pairs) + 1):
        for (first, then), evidence in enablings(SERVERS[name]).items():
            if not graph.has_edge(first, then):
                graph.add_edge(first, then, kind="implicit", id_type="", feeds={}, created=False)
            graph.edges[first, then]["enables"] = as_json(evidence)
        progress(done, len(pairs) + len(servers))
    return graph


def as_json(evidence: Enabling) -> dict[str, Any]:
    """As it comes back from a file."""
    told: dict[str, Any] = json.loads(json.dumps(asdict(evidence)))
    return told


def read(path: Path) -> nx.DiGraph | None:
    """The graph in a file; None when there is none or it is torn."""
    try:
        return nx.node_link_graph(json.loads(path.read_text("utf-8")), edges="edges")
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return None


def part(graph: nx.DiGraph, servers: Collection[str]) -> nx.DiGraph:
    """The graph of some servers, out of one that has them. Raises KeyError for a server that it has not."""
    if missing := set(servers) - {data["server"] for _, data in graph.nodes(data=True)}:
        raise KeyError(sorted(missing)[0])
    return nx.DiGraph(graph.subgraph([name for name, data in graph.nodes(data=True) if data["server"] in servers]))


def graph_path(folder: Path, servers: Collection[str] = tuple(SERVERS)) -> Path:
    """Where the graph of these servers as they are now is cached."""
    return folder / f"graph-{FORMAT}-{fingerprint(servers)}.json"


def load_or_build(
    folder: Path,
    progress: Callable[[int, int], None] = lambda done, total: None,
    servers: Collection[str] = tuple(SERVERS),
) -> nx.DiGraph:
    """The graph cached in `folder` under the hash of all schemas and code, built when it is not there or not whole."""
    path = graph_path(folder, servers)
    kept = read(path)
    if kept is not None:
        return kept
    graph = build(progress, servers)
    folder.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(nx.node_link_data(graph, edges="edges"), ensure_ascii=False), "utf-8")
    partial.replace(path)
    return graph
