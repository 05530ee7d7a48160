"""Forecast of a dataset before it is created, from a few conversations that are drawn immediately."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import networkx as nx
from django.conf import settings

from training_worker.core.trajectory import Example
from training_worker.datasets.recipes import PLANS
from training_worker.graph.dependency_graph import graph_path, part, read, restrict_to_chain
from training_worker.synthesis.conversation import Recipe
from training_worker.synthesis.dry_run import Trial, trial
from training_worker.synthesis.knobs import TINY

MOST, PATIENCE = 24, 1.5  # draws, and seconds
MAX_LENGTHS = 3


class NoForecast(Exception):
    """Error if a forecast is impossible; the message says why."""


@dataclass(frozen=True)
class Forecast:
    """Forecast of a dataset: `draws` are requested, `trial` is the outcome of a few.

    If `exact`, `draws` conversations result.
    """

    draws: int
    trial: Trial
    tools: int
    cores: int
    exact: bool

    @property
    def conversations(self) -> int:
        """The approximate number of conversations."""
        return self.draws if self.exact else round(self.draws * self.trial.yield_rate)

    @property
    def seconds(self) -> float:
        """The duration in seconds on all cores of a machine like this one."""
        drawn = self.draws / self.trial.yield_rate if self.exact and self.trial.yield_rate else self.draws
        return drawn * self.trial.each / self.cores

    @property
    def about_each(self) -> float:
        """The number of conversations about each tool, not counting others in which it also occurs."""
        return self.conversations / self.trial.targets

    @property
    def examples(self) -> list[Example]:
        """A few examples of different lengths."""
        by_length = {len(example.steps): example for example in reversed(self.trial.examples)}
        return [by_length[length] for length in sorted(by_length, reverse=True)[:MAX_LENGTHS]]

    @property
    def dropped(self) -> list[tuple[str, int]]:
        return [(format_reason(reason), count) for reason, count in self.trial.dropped.most_common(4)]


def forecast(spec: Mapping[str, Any]) -> Forecast:
    """Forecast the dataset of a specification. Raises NoForecast."""
    path = graph_path(Path(settings.PROVE_DATA) / "graph")
    if not path.exists():
        raise NoForecast("The dependency graph is not built yet; it is built first, in about a minute.")
    try:
        return compute_forecast(json.dumps(spec, sort_keys=True), str(path))
    except (ValueError, KeyError) as error:
        raise NoForecast(f"No conversation can be drawn with these settings: {error}") from None


@lru_cache(maxsize=64)
def compute_forecast(spec: str, path: str) -> Forecast:
    settings, cores = json.loads(spec), os.cpu_count() or 1
    if plan := PLANS.get(settings.get("recipe", "")):
        graph = plan.graph(load_graph(path), "train")
        draws, about, recipe = sum(plan.train.values()) + sum(plan.held_out.values()), (), plan.recipe
    else:
        graph = part(load_graph(path), settings["servers"])
        graph = restrict_to_chain(graph, settings["chain"]) if "chain" in settings else graph
        draws, about = settings["train"] + settings["held_out"], tuple(settings.get("tools", ()))
        recipe = Recipe(knobs=replace(TINY, most=settings["candidates"]))
    if not len(graph):
        raise NoForecast("These servers have no tools in the dependency graph.")
    return Forecast(draws, trial(graph, recipe, about, MOST, PATIENCE), len(graph), cores, exact=plan is not None)


@lru_cache(maxsize=2)
def load_graph(path: str) -> nx.DiGraph:
    if (graph := read(Path(path))) is None:
        raise NoForecast("The dependency graph file cannot be read. Rebuild the graph.")
    return graph


KINDS = {
    "NothingFits": "Nothing in the world fits",
    "StepRefused": "A tool refused",
    "Rejected": "Validation failed",
    "Stuck": "The conversation got stuck",
}


def format_reason(reason: str) -> str:
    """Return a reason in the words of a page."""
    kind, _, rest = reason.partition(": ")
    return f"{KINDS.get(kind, kind)}: {rest}" if rest else KINDS.get(kind, kind)


@dataclass(frozen=True)
class Drop:
    """A reason why draws were dropped, and its count; `share` is relative to the most frequent reason."""

    reason: str
    count: int
    share: float


def drops(reasons: Mapping[str, Any]) -> list[Drop]:
    """Return the reasons of an event or a result, the most frequent first."""
    counts = Counter({str(reason): int(count) for reason, count in reasons.items()})
    most = max(counts.values(), default=1)
    return [Drop(format_reason(reason), count, count / most) for reason, count in counts.most_common()]
