"""Graph job: the dependency graph of all tools, with edges verified by execution."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import networkx as nx

from ..core.stage_cache import StageFailed, only_one
from ..graph.dependency_graph import graph_path, load_or_build
from .job_context import EventLog, JobRefusedError, Result, require_known_settings

TURN = 0.5  # seconds between two tries to lock the folder of graphs


def work(spec: Mapping[str, Any], folder: Path, tell: EventLog) -> Result:
    require_known_settings(spec, set())
    graph = shared_graph(folder, tell)
    if not graph.number_of_edges():
        raise JobRefusedError("No dependency between tools could be verified; the servers cannot be chained.")
    shutil.copyfile(graph_path(cache(folder)), folder / "out" / "graph.json")
    created = sum(data["created"] for _, _, data in graph.edges(data=True))
    implicit = sum(kind == "implicit" for _, _, kind in graph.edges(data="kind"))
    plain = sum(bool(data["shows"]) and not data["feeds"] for _, _, data in graph.edges(data=True))
    counts = {"tools": len(graph), "edges": graph.number_of_edges(), "created": created}
    counts |= {"plain": plain, "implicit": implicit}
    return {**counts, "unproven": len(graph.graph["unproven"])}


def cache(folder: Path) -> Path:
    """Return the folder of graphs, beside the jobs' folders: one per version of the servers' code, for all jobs."""
    return folder.parent.parent / "graph"


def shared_graph(folder: Path, tell: EventLog) -> nx.DiGraph:
    """Return the shared graph, built by one job while others that need it wait."""
    count = tell.make_progress_counter("pairs of tools, run in forked sessions")
    count(0, 0)
    with ExitStack() as held:
        while True:
            with suppress(StageFailed):
                held.enter_context(only_one(cache(folder)))
                return load_or_build(cache(folder), count)
            tell.progress(0, 0, "another job is building the graph")
            time.sleep(TURN)
