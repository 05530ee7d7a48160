"""Verified dependency edges of a project, from its newest finished graph job."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from mcp_servers.catalogue import SERVERS, fingerprint
from prove_web.accounts.models import Project
from prove_web.live.models import Job, Kind, State
from training_worker.graph import dependency_graph as graph

Names = tuple[str, str]  # of producer and consumer


@dataclass(frozen=True)
class Node:
    """A tool in the graph, which may no longer be in the catalogue."""

    name: str
    server: str
    writes: bool


@dataclass(frozen=True)
class Edge:
    """Edge from a tool whose result feeds another's parameters; `proofs` are the verifying runs, by parameter.

    Without an `id_type` the value is a plain one. An implicit edge has no proofs but `enables`, the runs that show that
    the producer enables the consumer.
    """

    producer: str
    producer_server: str
    consumer: str
    consumer_server: str
    id_type: str
    created: bool
    proofs: tuple[tuple[str, dict[str, Any]], ...]
    implicit: bool = False
    enables: dict[str, Any] | None = None

    @property
    def names(self) -> Names:
        return self.producer, self.consumer

    @property
    def servers(self) -> Names:
        return self.producer_server, self.consumer_server

    @property
    def plain(self) -> bool:
        return not self.id_type and not self.implicit

    @property
    def crosses(self) -> bool:
        return self.producer_server != self.consumer_server


@dataclass(frozen=True)
class Proven:
    """A graph for pages; `current` is False if the servers have changed since."""

    edges: tuple[Edge, ...]
    unproven: tuple[tuple[str, str, str], ...]
    fingerprint: str
    nodes: tuple[Node, ...] = ()

    @property
    def current(self) -> bool:
        return self.fingerprint == fingerprint(tuple(SERVERS))

    @cached_property
    def tools(self) -> dict[str, Node]:
        return {node.name: node for node in self.nodes}

    @cached_property
    def by_names(self) -> dict[Names, Edge]:
        return {edge.names: edge for edge in self.edges}

    def filter_by_servers(self, servers: Collection[str]) -> Proven:
        """Return the part between tools of these servers; the graph itself if they are all."""
        if all(node.server in servers for node in self.nodes):
            return self
        nodes = tuple(node for node in self.nodes if node.server in servers)
        edges = tuple(
            edge for edge in self.edges if edge.producer_server in servers and edge.consumer_server in servers
        )
        names = {node.name for node in nodes}
        unproven = tuple(each for each in self.unproven if each[0] in names and each[1] in names)
        return Proven(edges, unproven, self.fingerprint, nodes)

    def search(self, text: str, server: str, kind: str) -> list[Edge]:
        """Return edges with all words in their tools, id type or parameters, optionally of one server and one kind."""
        wanted = text.lower().split()
        return [
            edge
            for edge in self.edges
            if (not server or server in (edge.producer_server, edge.consumer_server))
            and (kind != "created" or edge.created)
            and (kind != "implicit" or edge.implicit)
            and (kind != "plain" or edge.plain)
            and (kind != "crosses" or edge.crosses)
            and all(word in build_search_text(edge) for word in wanted)
        ]


def build_search_text(edge: Edge) -> str:
    names = (edge.producer, edge.consumer, edge.id_type, *(parameter for parameter, _ in edge.proofs))
    return " ".join(names).lower()


def newest(project: Project) -> tuple[Job | None, Proven | None]:
    """Return the newest graph job, which may still be running, and the newest readable graph."""
    jobs = Job.objects.filter(project=project, kind=Kind.GRAPH)
    done = jobs.filter(state=State.DONE).first()
    return jobs.first(), load(done) if done else None


def load(job: Job) -> Proven | None:
    path = job.out / "graph.json"
    try:
        return read(path, path.stat().st_mtime_ns)
    except OSError:
        return None


@lru_cache(maxsize=8)
def read(path: Path, changed: int) -> Proven | None:
    """Return the graph in a file; None if the file is incomplete or missing. `changed` invalidates the cache."""
    found = graph.read(path)
    if found is None:
        return None
    server = found.nodes(data="server")
    edges = tuple(
        Edge(
            a,
            server[a],
            b,
            server[b],
            edge["id_type"],
            edge["created"],
            (*edge["feeds"].items(), *edge.get("shows", {}).items()),
            edge.get("kind") == "implicit",
            edge.get("enables"),
        )
        for a, b, edge in found.edges(data=True)
    )
    unproven = tuple((a, b, parameter) for a, b, parameter in found.graph["unproven"])
    nodes = tuple(Node(name, data["server"], bool(data.get("writes"))) for name, data in sorted(found.nodes(data=True)))
    in_order = tuple(sorted(edges, key=lambda edge: edge.names))
    return Proven(in_order, unproven, found.graph["fingerprint"], nodes)
