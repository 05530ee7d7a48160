"""Synthesis of datasets on all cores; the result does not depend on the number of processes."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

import networkx as nx

from ..core.trajectory import Example, Kind, Split
from .conversation import Recipe
from .dedup import distinct
from .shards import SIZE, Draws, Result, Task
from .worker_pool import Ask, Crew, request_no_shard

ENOUGH = 25  # conversations that should use each tool
FOR_EACH = 6  # draws about a tool for each conversation that it lacks
RESERVE = 12  # one in this many conversations is drawn only in the second round, about rare tools
EXAMPLE = re.compile(r"(?:train|held_out)-\d+-\d+")
SPARE = 10  # extra draws of a kind beyond the missing ones
DRAWS = 3  # maximum number of draws per requested conversation
Progress = Callable[[int, int], None]
Watch = Callable[[Sequence[Result]], None]  # gets results as they arrive, in any order


@dataclass
class Report:
    """Statistics of the draws: how many were made and accepted, why others were dropped, which tools and lengths occur.

    `wanted` is the requested number of conversations, `draws` the number of draws for it.
    """

    wanted: int = 0
    draws: int = 0
    made: int = 0
    distinct: int = 0
    accepted: int = 0
    accepted_by_name_alone: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)

    def take(self, drawn: Sequence[Result]) -> list[Example]:
        """Return the examples of some draws, and count the reasons of dropped trials."""
        self.dropped.update(reasons(drawn))
        return [one.example for one in drawn if one.example]

    def shortfall(self) -> str:
        """Return why there are fewer conversations than requested; "" where there are enough."""
        if self.accepted >= self.wanted:
            return ""
        reasons = "; ".join(f"{reason} ({count:,} times)" for reason, count in self.dropped.most_common(3))
        repeats = self.made - self.distinct
        why = [f"{repeats:,} repeated another"] * bool(repeats) + [f"dropped: {reasons}"] * bool(reasons)
        return (
            f"{self.accepted:,} of {self.wanted:,} conversations could be made, from {self.draws:,} draws"
            f"{' (' + '; '.join(why) + ')' if why else ''}."
        )

    def tell_of(self, made: list[Example], chosen: list[Example]) -> None:
        """Count the examples made and accepted."""
        self.made, self.accepted = len(made), len(chosen)
        self.accepted_by_name_alone = sum(1 for _ in distinct(made, names_only=True))
        for example in chosen:
            self.kinds[example.kind] += 1
            self.lengths[len(example.steps)] += 1
            self.tools.update(call.name for step in example.steps for call in step.calls)


def reasons(drawn: Iterable[Result]) -> Iterator[str]:
    """Yield the reason of each dropped trial, without the details of the trial."""
    for one in drawn:
        for reason in one.dropped:
            kind, what, *_ = (part.strip() for part in [*reason.split(":"), ""])
            if EXAMPLE.fullmatch(what):
                what = "a value cannot be derived, or it does not replay"
            yield f"{kind}: {what}" if what else kind


def synthesize(
    count: int,
    split: Split,
    graph: nx.DiGraph,
    recipe: Recipe,
    progress: Progress = lambda done, total: None,
    processes: int | None = None,
    folder: Path | None = None,
    ask: Ask = request_no_shard,
    *,
    about: Sequence[str] = (),
    watch: Watch = lambda fresh: None,
) -> tuple[list[Example], Report]:
    """Return `count` validated, distinct conversations in the order of their index; uses all cores by default.

    Dropped draws are replaced until there are enough, two rounds in a row brought none, or DRAWS times as many were
    drawn; in the latter cases there are fewer, and the report's `shortfall` says why.

    With `about`, the conversations are about these tools in turn, else about all tools of the graph. Shards in the
    folder are reused; `ask` may have helpers make the others.
    """
    report, seen, barren = Report(wanted=count), 0, 0
    made, unlike = list[Example](), list[Example]()

    def report_progress(fresh: Sequence[Result]) -> None:
        nonlocal seen
        seen += len(fresh)
        watch(fresh)
        progress(min(seen, count), count)

    with Crew(Draws(graph, recipe, split), folder, count_useful_processes(processes, count), ask) as crew:
        while len(unlike) < count and barren < 2 and report.draws < DRAWS * count:
            lacking = count - len(unlike) + (SPARE if report.draws else 0)
            numbers = range(report.draws, report.draws + lacking)
            report.draws += lacking
            made += report.take(crew.draw([(index, None, in_turn(about, index)) for index in numbers], report_progress))
            before, unlike = len(unlike), list(distinct(made))
            barren = 0 if len(unlike) > before else barren + 1
    chosen = unlike[:count]
    report.tell_of(made, chosen)
    report.distinct = len(unlike)
    return chosen, report


def count_useful_processes(processes: int | None, count: int) -> int:
    """Return how many processes the first round of `count` draws keeps busy, at most `processes` (one per core)."""
    return max(1, min(processes or os.cpu_count() or 1, ceil(count / SIZE)))


def in_turn(tools: Sequence[str], index: int) -> str | None:
    return tools[index % len(tools)] if tools else None


def assemble(
    wanted: Mapping[Kind, int],
    split: Split,
    graph: nx.DiGraph,
    recipe: Recipe,
    progress: Progress = lambda done, total: None,
    processes: int | None = None,
    folder: Path | None = None,
    ask: Ask = request_no_shard,
    watch: Watch = lambda fresh: None,
) -> tuple[list[Example], Report]:
    """Return the wanted number of validated, distinct conversations of each kind, in the order of their index.

    More are drawn until there are enough, first about the rarest tools. Shards in the folder are reused; `ask` may have
    helpers make the others. Raises CannotBeMet when two rounds in a row bring nothing that is missing.
    """
    barren, tally = 0, Tally(wanted, progress)
    report, made, chosen = Report(), list[Example](), list[Example]()
    missing, unlike = dict(wanted), list[Example]()
    with Crew(
        Draws(graph, recipe, split), folder, count_useful_processes(processes, sum(wanted.values())), ask
    ) as crew:
        while any(missing.values()):
            lacking = {
                kind: count + (SPARE if chosen else -(count // RESERVE)) for kind, count in missing.items() if count
            }
            # after a round without progress, any tool
            about = rare(chosen, list(graph)) if chosen and not barren else []
            tasks = interleave_tasks(lacking, report.draws, about)
            report.draws += len(tasks)
            made += report.take(crew.draw(tasks, tally.of_round(missing, watch)))
            unlike = list(distinct(made))
            before, chosen = len(chosen), first_of_each(unlike, wanted)
            counts = Counter(example.kind for example in chosen)
            missing = {kind: count - counts[kind] for kind, count in wanted.items()}
            barren = barren + 1 if len(chosen) == before else 0
            if barren == 2:
                raise CannotBeMet(missing, report)
    progress(len(chosen), len(chosen))
    report.tell_of(made, chosen)
    report.distinct = len(unlike)
    return chosen, report


class Tally:
    """Progress reports on the wanted conversations; they never decrease, and reach the total only at the end."""

    def __init__(self, wanted: Mapping[Kind, int], progress: Progress):
        self.total, self.progress, self.reported = sum(wanted.values()), progress, 0

    def of_round(self, missing: Mapping[Kind, int], watch: Watch) -> Watch:
        """Return a callback that counts a round's results towards the missing ones, before duplicates are known."""
        before, brought = self.total - sum(missing.values()), Counter[Kind]()

        def count_results(fresh: Sequence[Result]) -> None:
            watch(fresh)
            brought.update(one.example.kind for one in fresh if one.example)
            there = before + sum(min(count, missing[kind]) for kind, count in brought.items())
            self.reported = max(self.reported, min(there, self.total - 1))
            self.progress(self.reported, self.total)

        return count_results


class CannotBeMet(Exception):
    """A recipe that wants more distinct conversations than its tools and worlds give; the message says why."""

    def __init__(self, missing: Mapping[Kind, int], report: Report):
        lacking = ", ".join(f"{count:,} {kind}" for kind, count in missing.items() if count)
        reasons = "; ".join(f"{reason} ({count:,} times)" for reason, count in report.dropped.most_common(5))
        super().__init__(
            f"{lacking} conversations are missing after {report.draws:,} draws: new ones repeat existing ones. "
            f"Request fewer, or give the recipe more worlds or servers. Most draws failed by: {reasons or 'nothing'}."
        )


def interleave_tasks(counts: Mapping[Kind, int], first: int, about: Sequence[str] = ()) -> list[Task]:
    """Return tasks from an index on, with a count for each kind, each kind spread evenly over all tasks.

    The first chains are about the given tools, one each, the others about the tool that their index selects.
    """
    places = sorted(((number + 0.5) / count, kind) for kind, count in counts.items() for number in range(count))
    tools = iter(about)
    return [
        (index, kind, next(tools, None) if kind == "chain" else None) for index, (_, kind) in enumerate(places, first)
    ]


def rare(chosen: list[Example], tools: list[str]) -> list[str]:
    """Return the tools that occur in too few conversations, the rarest first, each repeated once per draw."""
    counts = Counter(
        name for example in chosen for name in {call.name for step in example.steps for call in step.calls}
    )
    rarest = sorted((name for name in tools if counts[name] < ENOUGH), key=lambda name: (counts[name], name))
    return [name for name in rarest for _ in range(FOR_EACH * (ENOUGH - counts[name]))]


def first_of_each(examples: Iterable[Example], wanted: Mapping[Kind, int]) -> list[Example]:
    """Return the first wanted examples of each kind, in order."""
    seen: Counter[Kind] = Counter()
    chosen = []
    for example in examples:
        if seen[example.kind] < wanted[example.kind]:
            seen[example.kind] += 1
            chosen.append(example)
    return chosen
