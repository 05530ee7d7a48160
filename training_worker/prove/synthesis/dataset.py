"""Make a data set of many conversations on all cores; the result is the same whatever the number of processes."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from threading import current_thread, main_thread
from typing import TypeVar

import networkx as nx

from ..trajectory import Example, Split
from .conversation import Recipe, make
from .dedup import distinct

CHUNK = 25
T = TypeVar("T")
Progress = Callable[[int, int], None]


@dataclass
class Report:
    """What became of the draws: how many were made and kept, why others were dropped, which tools and lengths occur."""

    asked: int = 0
    made: int = 0
    kept: int = 0
    kept_by_name_alone: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)


def synthesize(
    count: int,
    split: Split,
    graph: nx.DiGraph,
    recipe: Recipe,
    progress: Progress = lambda done, total: None,
    processes: int | None = None,
) -> tuple[list[Example], Report]:
    """Up to `count` validated, distinct conversations, in the order of their index; on all cores by default."""
    report, made = Report(asked=count), list[Example]()
    chunks = [range(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK)]
    with workers(graph, recipe, split, processes or os.cpu_count() or 1) as run:
        for chunk, results in zip(chunks, run(chunks), strict=True):
            for example, dropped in results:
                made += [example] if example else []
                report.dropped.update(reason.split(":")[0] + ": " + reason.split(":")[1].strip() for reason in dropped)
            progress(chunk.stop, count)
    kept = list(distinct(made))
    report.made, report.kept = len(made), len(kept)
    report.kept_by_name_alone = sum(1 for _ in distinct(made, names_only=True))
    for example in kept:
        report.kinds[example.kind] += 1
        report.lengths[len(example.steps)] += 1
        report.tools.update(call.name for step in example.steps for call in step.calls)
    return kept, report


@contextmanager
def workers(
    graph: nx.DiGraph, recipe: Recipe, split: Split, processes: int
) -> Iterator[Callable[[list[range]], Iterator[list[tuple[Example | None, list[str]]]]]]:
    """A way to run chunks in order in processes of their own, which ignore Ctrl-C, which is the parent's to answer."""
    if processes == 1:
        prepare(graph, recipe, split)
        yield lambda chunks: map(run_chunk, chunks)
        return
    pool = ProcessPoolExecutor(processes, get_context("spawn"), prepare, (graph, recipe, split))
    try:
        yield lambda chunks: deaf_to_ctrl_c(lambda: pool.map(run_chunk, chunks))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def deaf_to_ctrl_c(start: Callable[[], T]) -> T:
    """Start processes that ignore Ctrl-C from their first moment: what is ignored here stays ignored in them."""
    if current_thread() is not main_thread():
        return start()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return start()
    finally:
        signal.signal(signal.SIGINT, before)


job: tuple[nx.DiGraph, Recipe, Split]


def prepare(graph: nx.DiGraph, recipe: Recipe, split: Split) -> None:
    """Set what this process works on."""
    global job
    job = (graph, recipe, split)
    if parent_process() is not None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def run_chunk(chunk: range) -> list[tuple[Example | None, list[str]]]:
    graph, recipe, split = job
    return [make(index, split, graph, recipe) for index in chunk]
