"""Dataset job: training and held-out conversations, all verified by replay."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import networkx as nx

from mcp_servers.catalogue import SERVERS

from ..core.trajectory import Example, Split, write_lines
from ..datasets.dataset_folder import make
from ..datasets.recipes import PLANS
from ..experiments.pipeline import HELD_OUT_RECIPE_SEED, SEEDS, TRAIN_RECIPE_SEED, find_shared_values
from ..graph.dependency_graph import LONGEST_CHAIN, part, restrict_to_chain
from ..synthesis.conversation import Recipe
from ..synthesis.dataset import CannotBeMet, reasons, synthesize
from ..synthesis.knobs import TINY, Knobs
from ..synthesis.shards import SHARDS, Result, open_shard_folder
from ..synthesis.worker_pool import Ask, request_no_shard
from .graph import shared_graph
from .job_context import EventLog, JobRefusedError, parse_int, require_known_settings
from .job_context import Result as JobResult
from .shard_requests import Helpers

MOST_REASONS = 12  # drop reasons in a progress event
CPU_WORKERS = "PROVE_CPU_WORKERS"  # environment variable: how many of them the site has on this machine


def work(spec: Mapping[str, Any], folder: Path, tell: EventLog) -> JobResult:
    """Make a dataset from an imported file, from a named recipe, or from the numbers of the specification."""
    if "import" in spec:
        from .dataset_import import work as of_file

        return of_file(spec, folder, tell)
    return by_recipe(spec, folder, tell) if "recipe" in spec else by_numbers(spec, folder, tell)


def by_recipe(spec: Mapping[str, Any], folder: Path, tell: EventLog) -> JobResult:
    require_known_settings(spec, {"recipe"})
    plan = PLANS.get(str(spec["recipe"]))
    if plan is None:
        raise JobRefusedError(f"recipe must be one of {', '.join(PLANS)}, not {spec['recipe']!r}.")
    graph = shared_graph(folder, tell)
    train, held_out = sum(plan.train.values()), sum(plan.held_out.values())
    counters = {
        "train": tell.make_progress_counter("train conversations, each replayed", 0, held_out),
        "held_out": tell.make_progress_counter("held-out conversations, each replayed", train, 0),
    }
    try:
        ask, out = helpers(folder, tell), folder / "out"
        made = make(
            plan, out, graph, lambda split: counters[split], processes(), replacing=True, ask=ask, watch=Drops(tell).add
        )
        return {"manifest": asdict(made)}
    except CannotBeMet as reason:
        raise JobRefusedError(str(reason)) from None


def by_numbers(spec: Mapping[str, Any], folder: Path, tell: EventLog) -> JobResult:
    require_known_settings(spec, {"seed", "train", "held_out", "candidates", "servers", "chain", "tools"})
    train, held_out = parse_int(spec, "train", 1), parse_int(spec, "held_out", 0)
    seed, knobs = parse_int(spec, "seed", SEEDS[0], SEEDS[-1], default=0), knobs_of(spec)
    servers = servers_of(spec)
    graph = part(shared_graph(folder, tell), servers)
    if "chain" in spec:
        graph = build_chain_graph(spec["chain"], graph)
    tools, drops = tools_of(spec, graph), Drops(tell)
    plan: tuple[tuple[Split, int, int, int, int], ...] = (
        ("train", train, TRAIN_RECIPE_SEED + seed, 0, held_out),
        ("held_out", held_out, HELD_OUT_RECIPE_SEED, train, 0),
    )
    made: dict[str, list[Example]] = {}
    counts: dict[str, Any] = {}
    ask = helpers(folder, tell)
    with open_shard_folder(folder / "out" / SHARDS) as shards:
        for split, count, recipe_seed, before, after in plan:
            progress = tell.make_progress_counter(
                f"{split.replace('_', '-')} conversations, each replayed", before, after
            )
            recipe = Recipe(recipe_seed, knobs=knobs)
            made[split], report = synthesize(
                count, split, graph, recipe, progress, processes(), shards, ask, about=tools, watch=drops.add
            )
            counts[split] = vars(report) | {"shortfall": report.shortfall()}
        if fewer := " ".join(one["shortfall"] for one in counts.values() if one["shortfall"]):
            tell.progress(train + held_out, train + held_out, fewer)
        if leaks := find_shared_values(made["train"], made["held_out"]):
            raise JobRefusedError(f"The held-out worlds share {len(leaks)} values with training: {leaks[:3]}.")
        for name, examples in made.items():
            write_lines(folder / "out" / f"{name}.jsonl", examples)
    return {"counts": counts}


class Drops:
    """Running counts of kept conversations and of drop reasons, added to every progress event."""

    def __init__(self, tell: EventLog):
        self.accepted, self.dropped, self.beside = 0, Counter[str](), tell.beside

    def add(self, fresh: Sequence[Result]) -> None:
        self.accepted += sum(one.example is not None for one in fresh)
        self.dropped.update(reasons(fresh))
        self.beside |= {"kept": self.accepted, "dropped": dict(self.dropped.most_common(MOST_REASONS))}


def processes() -> int:
    """Return how many cores of this machine its other CPU workers leave free."""
    return max(1, (os.cpu_count() or 1) - (int(os.environ.get(CPU_WORKERS) or 1) - 1))


def helpers(folder: Path, tell: EventLog) -> Ask:
    """Return a way to ask the other workers for shards, if there is a broker to reach them."""
    if "REDIS_URL" not in os.environ:
        return request_no_shard
    from ..worker.app import app  # its import requires a broker

    return Helpers(app, folder.name, tell.attempt)


def servers_of(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the servers of a specification in the catalogue's order; all if it names none. Raises JobRefusedError."""
    named = spec.get("servers", list(SERVERS))
    if not isinstance(named, list) or not named or any(name not in SERVERS for name in named):
        raise JobRefusedError(f"servers must be a list of some of {', '.join(SERVERS)}, not {named!r}.")
    return tuple(name for name in SERVERS if name in named)


def build_chain_graph(chain: Any, graph: nx.DiGraph) -> nx.DiGraph:
    """Return the graph for conversations about a single chain. Raises JobRefusedError."""
    text = f"chain must be a list of 2 to {LONGEST_CHAIN} different tools of these servers, not {chain!r}."
    if not isinstance(chain, list) or not 2 <= len(chain) <= LONGEST_CHAIN:
        raise JobRefusedError(text)
    if any(not isinstance(name, str) or name not in graph for name in chain) or len({*chain}) < len(chain):
        raise JobRefusedError(text)
    try:
        return restrict_to_chain(graph, chain)
    except ValueError as error:
        raise JobRefusedError(str(error)) from None


def tools_of(spec: Mapping[str, Any], graph: nx.DiGraph) -> tuple[str, ...]:
    """Return the tools that the conversations are about in turn; empty for all tools. Raises JobRefusedError."""
    named = spec.get("tools", [])
    if not isinstance(named, list) or any(not isinstance(name, str) or name not in graph for name in named):
        raise JobRefusedError(f"tools must be a list of some of the tools of these servers, not {named!r}.")
    return tuple(dict.fromkeys(named))


def knobs_of(spec: Mapping[str, Any]) -> Knobs:
    try:
        return replace(TINY, most=parse_int(spec, "candidates", 1, default=TINY.most))
    except ValueError as error:
        raise JobRefusedError(f"candidates is too small. {error}") from None
