"""Make a data set of many conversations on all cores; the result is the same whatever the number of processes."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate, chain, repeat
from multiprocessing import get_context, parent_process

import networkx as nx

from ..processes import deaf_to_ctrl_c
from ..trajectory import Example, Kind, Split
from .conversation import Recipe, make
from .dedup import distinct

CHUNK = 25
ENOUGH = 25  # conversations that a tool should come in
FOR_EACH = 40  # draws about one tool in a round, when it has come too seldom
SPARE = 10  # draws of a kind beyond what lacks of it
Task = tuple[int, Kind | None, str | None]  # the index of a conversation, its kind and the tool it is to be about
Results = list[tuple[Example | None, list[str]]]
Progress = Callable[[int, int], None]


@dataclass
class Report:
    """What became of the draws: how many were made and kept, why others were dropped, which tools and lengths occur."""

    asked: int = 0
    made: int = 0
    distinct: int = 0
    kept: int = 0
    kept_by_name_alone: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)

    def take(self, results: Results) -> list[Example]:
        """The examples of some results; why draws were dropped is counted."""
        for _, dropped in results:
            self.dropped.update(reason.split(":")[0] + ": " + reason.split(":")[1].strip() for reason in dropped)
        return [example for example, _ in results if example]

    def tell_of(self, made: list[Example], kept: list[Example]) -> None:
        """Count what was made and what of it is kept."""
        self.made, self.kept = len(made), len(kept)
        self.kept_by_name_alone = sum(1 for _ in distinct(made, names_only=True))
        for example in kept:
            self.kinds[example.kind] += 1
            self.lengths[len(example.steps)] += 1
            self.tools.update(call.name for step in example.steps for call in step.calls)


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
    chunks = in_chunks([(index, None, None) for index in range(count)])
    with workers(graph, recipe, split, max(1, min(processes or os.cpu_count() or 1, len(chunks)))) as run:
        for done, results in run(chunks):
            made += report.take(results)
            progress(done, count)
    kept = list(distinct(made))
    report.tell_of(made, kept)
    report.distinct = len(kept)
    return kept, report


def assemble(
    wanted: Mapping[Kind, int],
    split: Split,
    graph: nx.DiGraph,
    recipe: Recipe,
    progress: Progress = lambda done, total: None,
    processes: int | None = None,
) -> tuple[list[Example], Report]:
    """Exactly so many validated, distinct conversations of each kind, in the order of their index.

    More are drawn until there are enough, first about the tools that have come least often. Raises CannotBeMet when
    twice in a row a round brings nothing that lacks.
    """
    total, barren = sum(wanted.values()), 0
    report, made, kept = Report(), list[Example](), list[Example]()
    missing, unlike = dict(wanted), list[Example]()
    with workers(graph, recipe, split, processes or os.cpu_count() or 1) as run:
        while any(missing.values()):
            lacking = {kind: count + SPARE for kind, count in missing.items() if count}
            tasks = mixed(lacking, report.asked, rare(kept, list(graph)) if kept else [])
            report.asked += len(tasks)
            for done, results in run(in_chunks(tasks)):
                made += report.take(results)
                progress(len(kept) + done * sum(missing.values()) // len(tasks), total)
            unlike = list(distinct(made))
            before, kept = len(kept), first_of_each(unlike, wanted)
            counts = Counter(example.kind for example in kept)
            missing = {kind: count - counts[kind] for kind, count in wanted.items()}
            barren = barren + 1 if len(kept) == before else 0
            if barren == 2:
                raise CannotBeMet(missing, report)
    report.tell_of(made, kept)
    report.distinct = len(unlike)
    return kept, report


class CannotBeMet(Exception):
    """A recipe asks for more different conversations than its tools and worlds give; says of which kind, and why."""

    def __init__(self, missing: Mapping[Kind, int], report: Report):
        lacking = ", ".join(f"{count:,} {kind}" for kind, count in missing.items() if count)
        reasons = "; ".join(f"{reason} ({count:,} times)" for reason, count in report.dropped.most_common(5))
        super().__init__(
            f"{lacking} conversations are lacking after {report.asked:,} draws: new ones repeat what there is. "
            f"Ask for fewer, or give the recipe more worlds or servers. Most draws failed by: {reasons or 'nothing'}."
        )


def mixed(counts: Mapping[Kind, int], first: int, about: Sequence[str] = ()) -> list[Task]:
    """Tasks from this index on, so many of each kind, each kind spread evenly over the whole.

    Every other one is about one of these tools, a few for each; the rest about whichever tool their index names.
    """
    places = sorted(((number + 0.5) / count, kind) for kind, count in counts.items() for number in range(count))
    tools = chain.from_iterable(repeat(about, FOR_EACH))
    return [(index, kind, None if index % 2 else next(tools, None)) for index, (_, kind) in enumerate(places, first)]


def rare(kept: list[Example], tools: list[str]) -> list[str]:
    """The tools that have come in fewer conversations than they should, the rarest first."""
    counts = Counter(name for example in kept for name in {call.name for step in example.steps for call in step.calls})
    return sorted((name for name in tools if counts[name] < ENOUGH), key=lambda name: (counts[name], name))


def first_of_each(examples: Iterable[Example], wanted: Mapping[Kind, int]) -> list[Example]:
    """The first so many of each kind, in order."""
    seen: Counter[Kind] = Counter()
    kept = []
    for example in examples:
        if seen[example.kind] < wanted[example.kind]:
            seen[example.kind] += 1
            kept.append(example)
    return kept


def in_chunks(tasks: list[Task]) -> list[list[Task]]:
    return [tasks[start : start + CHUNK] for start in range(0, len(tasks), CHUNK)]


@contextmanager
def workers(
    graph: nx.DiGraph, recipe: Recipe, split: Split, processes: int
) -> Iterator[Callable[[list[list[Task]]], Iterator[tuple[int, Results]]]]:
    """A way to run chunks in order in processes of their own, which ignore Ctrl-C, which is the parent's to answer.

    With the results of each chunk it tells how many tasks are done.
    """
    if processes == 1:
        prepare(graph, recipe, split)
        yield lambda chunks: counted(chunks, map(run_chunk, chunks))
        return
    pool = ProcessPoolExecutor(processes, get_context("spawn"), prepare, (graph, recipe, split))
    try:
        yield lambda chunks: counted(chunks, deaf_to_ctrl_c(lambda: pool.map(run_chunk, chunks)))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def counted(chunks: list[list[Task]], results: Iterator[Results]) -> Iterator[tuple[int, Results]]:
    return zip(accumulate(map(len, chunks)), results, strict=True)


job: tuple[nx.DiGraph, Recipe, Split]


def prepare(graph: nx.DiGraph, recipe: Recipe, split: Split) -> None:
    """Set what this process works on."""
    global job
    job = (graph, recipe, split)
    if parent_process() is not None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def run_chunk(chunk: list[Task]) -> Results:
    graph, recipe, split = job
    return [make(index, split, graph, recipe, kind, target) for index, kind, target in chunk]
