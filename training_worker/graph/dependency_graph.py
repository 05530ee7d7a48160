"""The tool dependency graph: a directed graph whose edges are proven by running the tools in forked sessions.

An *explicit* edge means that A returns a value that B needs, an id or a plain value (see `explicit_edges`); if it does
not exist before A has run, A creates it. An *implicit* edge means that A must run first for another reason (see
`implicit_edges`). The runs are stored as evidence. (Paper, section 2, step 1.)
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict
from itertools import groupby, pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

import networkx as nx

from mcp_servers.catalogue import SERVERS, TOOLS, fingerprint

from ..core.process_pool import spread
from .explicit_edges import Candidate, Proof, candidates, prove
from .implicit_edges import ImplicitEdgeProof, enablings

FORMAT = 3  # increased when the meaning of an edge changes, so that no older cached graph is used
PAIRS_PER_PROCESS = 1_000  # proving fewer pairs takes less time than starting another process
Enablings = dict[tuple[str, str], ImplicitEdgeProof]
Task = tuple[Candidate, ...] | str  # pairs of the same servers; or a server whose implicit edges are searched


def build(
    progress: Callable[[int, int], None] = lambda done, total: None,
    servers: Collection[str] = tuple(SERVERS),
    processes: int | None = None,
) -> nx.DiGraph:
    """Build the graph over the tools of some servers: nodes with their server, edges with their kind and evidence.

    An *explicit* edge has its proofs by parameter, in `feeds` for ids and in `shows` for plain values; an *implicit*
    edge has its runs in `enables`; an edge that is both is explicit. Unproven pairs have no edge. The result for two
    tools depends neither on the other servers nor on the number of processes.
    """
    graph = nx.DiGraph(fingerprint=fingerprint(servers), unproven=[])
    tools = {name: (server, tool) for name, (server, tool) in TOOLS.items() if server.name in servers}
    for name, (server, tool) in tools.items():
        graph.add_node(name, server=server.name, writes=tool.writes)
    pairs = candidates(tool for _, tool in tools.values())
    proofs, found = dict[Candidate, Proof | None](), dict[str, Enablings]()
    queue, total = tasks(pairs, servers), len(pairs) + len(servers)
    processes = processes or min(os.cpu_count() or 1, 1 + len(pairs) // PAIRS_PER_PROCESS)
    for task, result in zip(queue, spread(done_of, queue, processes), strict=True):
        proofs |= zip(task, result, strict=True) if isinstance(task, tuple) else ()
        found |= {task: result} if isinstance(task, str) else {}
        progress(len(proofs) + len(found), total)
    for pair in pairs:
        add_proof(graph, pair, proofs[pair])
    for name in (name for name in SERVERS if name in servers):
        for names, evidence in found[name].items():
            edge(graph, names, "implicit")["enables"] = as_json(evidence)
    return graph


def tasks(pairs: list[Candidate], servers: Collection[str]) -> list[Task]:
    """Return the tasks, the longest first. Pairs of the same servers are one task, because they share worlds."""
    together = groupby(sorted(pairs, key=attrgetter("servers")), key=attrgetter("servers"))
    return [*servers, *sorted((tuple(group) for _, group in together), key=len, reverse=True)]


def done_of(task: Task) -> Any:
    return enablings(SERVERS[task]) if isinstance(task, str) else [prove(pair) for pair in task]


def add_proof(graph: nx.DiGraph, pair: Candidate, proof: Proof | None) -> None:
    if proof is None:
        graph.graph["unproven"].append([pair.giver, pair.taker, pair.parameter])
        return
    data = edge(graph, (pair.giver, pair.taker), "explicit")
    data["created"] = data["created"] or proof.created
    data["id_type"] = data["id_type"] or ("" if pair.plain else pair.of)
    data["shows" if pair.plain else "feeds"][pair.parameter] = asdict(proof)


def edge(graph: nx.DiGraph, names: tuple[str, str], kind: str) -> dict[str, Any]:
    """Return the data of an edge, which is added if it does not exist."""
    if not graph.has_edge(*names):
        graph.add_edge(*names, kind=kind, id_type="", feeds={}, shows={}, created=False, enables=None)
    data: dict[str, Any] = graph.edges[names]
    return data


def as_json(evidence: ImplicitEdgeProof) -> dict[str, Any]:
    """Return the evidence as it is read back from a JSON file."""
    fields: dict[str, Any] = json.loads(json.dumps(asdict(evidence)))
    return fields


def read(path: Path) -> nx.DiGraph | None:
    """Read the graph in a file; None if there is no file or it is incomplete."""
    try:
        return nx.node_link_graph(json.loads(path.read_text("utf-8")), edges="edges")
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return None


def part(graph: nx.DiGraph, servers: Collection[str], without: Collection[str] = ()) -> nx.DiGraph:
    """Return the subgraph of some servers, without some tools. Raises KeyError for a server that it does not have."""
    if missing := set(servers) - {data["server"] for _, data in graph.nodes(data=True)}:
        raise KeyError(sorted(missing)[0])
    own = graph.copy()
    nodes = graph.nodes(data="server")
    own.remove_nodes_from([name for name, server in nodes if server not in servers or name in without])
    own.graph["unproven"] = [pair for pair in graph.graph["unproven"] if pair[0] in own and pair[1] in own]
    own.graph["fingerprint"] = fingerprint([name for name in SERVERS if name in servers])
    return own


LONGEST_CHAIN = 5  # maximum number of tools of a user-chosen chain


def restrict_to_chain(graph: nx.DiGraph, chain: Sequence[str]) -> nx.DiGraph:
    """Return a copy of the graph restricted to one chain: sampling a chain from it returns this chain.

    Raises KeyError for an unknown tool, and ValueError if an edge of the chain is missing.
    """
    if missing := [name for name in chain if name not in graph]:
        raise KeyError(missing[0])
    if gaps := [f"{a} to {b}" for a, b in pairwise(chain) if not graph.has_edge(a, b)]:
        raise ValueError(f"No edge leads from {gaps[0]}.")
    own = graph.copy()
    own.graph["chain"] = list(chain)
    return own


def graph_path(folder: Path, servers: Collection[str] = tuple(SERVERS)) -> Path:
    """Return the path of the cached graph of these servers in their current version."""
    return folder / f"graph-{FORMAT}-{fingerprint(servers)}.json"


def load_or_build(
    folder: Path,
    progress: Callable[[int, int], None] = lambda done, total: None,
    servers: Collection[str] = tuple(SERVERS),
) -> nx.DiGraph:
    """Return the graph cached in `folder` by the servers' behavior; build it if missing or incomplete.

    Where the graph of all servers is cached, that of some is its part.
    """
    path = graph_path(folder, servers)
    stored = read(path)
    if stored is not None:
        return stored
    full = read(graph_path(folder))
    graph = build(progress, servers) if full is None else part(full, servers)
    folder.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(nx.node_link_data(graph, edges="edges"), ensure_ascii=False), "utf-8")
    partial.replace(path)
    return graph
