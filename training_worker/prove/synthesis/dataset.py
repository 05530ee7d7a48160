"""Make a data set of many conversations on all cores; the result is the same whatever the number of processes."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

import networkx as nx

from ..trajectory import Example, Kind, Split
from .conversation import Recipe
from .dedup import distinct
from .shards import SIZE, Draws, Result, Task
from .worker_pool import Ask, Crew, nobody

ENOUGH = 25  # conversations that a tool should come in
FOR_EACH = 6  # draws about a tool for each conversation that it lacks
RESERVE = 12  # of so many conversations one is drawn only in the second round, about tools that came too seldom
EXAMPLE = re.compile(r"(?:train|held_out)-\d+-\d+")
SPARE = 10  # draws of a kind beyond what lacks of it
DRAWS = 3  # draws for each conversation that is asked for, at most
Progress = Callable[[int, int], None]
Watch = Callable[[Sequence[Result]], None]  # hears of results as they come, in no order


@dataclass
class Report:
    """What became of the draws: how many were made and kept, why others were dropped, which tools and lengths occur.

    `wanted` is how many conversations were asked for, `asked` how many were drawn for that.
    """

    wanted: int = 0
    asked: int = 0
    made: int = 0
    distinct: int = 0
    kept: int = 0
    kept_by_name_alone: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)

    def take(self, drawn: Sequence[Result]) -> list[Example]:
        """The examples of some draws; why trials were dropped is counted."""
        self.dropped.update(reasons(drawn))
        return [one.example for one in drawn if one.example]

    def shortfall(self) -> str:
        """Why there are fewer conversations than were asked for; "" where there are enough."""
        if self.kept >= self.wanted:
            return ""
        reasons = "; ".join(f"{reason} ({count:,} times)" for reason, count in self.dropped.most_common(3))
        repeats = self.made - self.distinct
        why = [f"{repeats:,} repeated another"] * bool(repeats) + [f"dropped: {reasons}"] * bool(reasons)
        return (
            f"{self.kept:,} of {self.wanted:,} conversations could be made, from {self.asked:,} draws"
            f"{' (' + '; '.join(why) + ')' if why else ''}."
        )

    def tell_of(self, made: list[Example], kept: list[Example]) -> None:
        """Count what was made and what of it is kept."""
        self.made, self.kept = len(made), len(kept)
        self.kept_by_name_alone = sum(1 for _ in distinct(made, names_only=True))
        for example in kept:
            self.kinds[example.kind] += 1
            self.lengths[len(example.steps)] += 1
            self.tools.update(call.name for step in example.steps for call in step.calls)


def reasons(drawn: Iterable[Result]) -> Iterator[str]:
    """Why each trial was dropped that was, without what is special about it."""
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
    ask: Ask = nobody,
    *,
    about: Sequence[str] = (),
    watch: Watch = lambda fresh: None,
) -> tuple[list[Example], Report]:
    """`count` validated, distinct conversations, in the order of their index; on all cores by default.

    More are drawn in place of those that were dropped, until there are enough, two rounds in a row brought none, or
    DRAWS times as many were drawn: then there are fewer, and the report's `shortfall` says why.

    With `about` the conversations are about these tools in turn, else about all of the graph. Shards that are in the
    folder are not made again; helpers may be asked for the others.
    """
    report, seen, barren = Report(wanted=count), 0, 0
    made, unlike = list[Example](), list[Example]()

    def tell(fresh: Sequence[Result]) -> None:
        nonlocal seen
        seen += len(fresh)
        watch(fresh)
        progress(min(seen, count), count)

    with Crew(Draws(graph, recipe, split), folder, enough(processes, count), ask) as crew:
        while len(unlike) < count and barren < 2 and report.asked < DRAWS * count:
            lacking = count - len(unlike) + (SPARE if report.asked else 0)
            numbers = range(report.asked, report.asked + lacking)
            report.asked += lacking
            made += report.take(crew.draw([(index, None, in_turn(about, index)) for index in numbers], tell))
            before, unlike = len(unlike), list(distinct(made))
            barren = 0 if len(unlike) > before else barren + 1
    kept = unlike[:count]
    report.tell_of(made, kept)
    report.distinct = len(unlike)
    return kept, report


def enough(processes: int | None, count: int) -> int:
    """How many processes the first round of `count` draws keeps busy, of those there may be: by default one a core."""
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
    ask: Ask = nobody,
    watch: Watch = lambda fresh: None,
) -> tuple[list[Example], Report]:
    """Exactly so many validated, distinct conversations of each kind, in the order of their index.

    More are drawn until there are enough, first about the tools that have come least often. Shards that are in the
    folder are not made again; helpers may be asked for the others. Raises CannotBeMet when twice in a row a round
    brings nothing that lacks.
    """
    barren, tally = 0, Tally(wanted, progress)
    report, made, kept = Report(), list[Example](), list[Example]()
    missing, unlike = dict(wanted), list[Example]()
    with Crew(Draws(graph, recipe, split), folder, enough(processes, sum(wanted.values())), ask) as crew:
        while any(missing.values()):
            lacking = {
                kind: count + (SPARE if kept else -(count // RESERVE)) for kind, count in missing.items() if count
            }
            about = rare(kept, list(graph)) if kept and not barren else []  # after a barren round any tool will do
            tasks = mixed(lacking, report.asked, about)
            report.asked += len(tasks)
            made += report.take(crew.draw(tasks, tally.of_round(missing, watch)))
            unlike = list(distinct(made))
            before, kept = len(kept), first_of_each(unlike, wanted)
            counts = Counter(example.kind for example in kept)
            missing = {kind: count - counts[kind] for kind, count in wanted.items()}
            barren = barren + 1 if len(kept) == before else 0
            if barren == 2:
                raise CannotBeMet(missing, report)
    progress(len(kept), len(kept))
    report.tell_of(made, kept)
    report.distinct = len(unlike)
    return kept, report


class Tally:
    """Tells how many conversations there are of those wanted: never fewer than before, and all only at the end."""

    def __init__(self, wanted: Mapping[Kind, int], progress: Progress):
        self.total, self.progress, self.told = sum(wanted.values()), progress, 0

    def of_round(self, missing: Mapping[Kind, int], watch: Watch) -> Watch:
        """Counts what a round brings of what is missing, as long as nobody knows what of it repeats another."""
        before, brought = self.total - sum(missing.values()), Counter[Kind]()

        def tell(fresh: Sequence[Result]) -> None:
            watch(fresh)
            brought.update(one.example.kind for one in fresh if one.example)
            there = before + sum(min(count, missing[kind]) for kind, count in brought.items())
            self.told = max(self.told, min(there, self.total - 1))
            self.progress(self.told, self.total)

        return tell


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

    The first chains are about these tools, one each; the rest about whichever tool their index names.
    """
    places = sorted(((number + 0.5) / count, kind) for kind, count in counts.items() for number in range(count))
    tools = iter(about)
    return [
        (index, kind, next(tools, None) if kind == "chain" else None) for index, (_, kind) in enumerate(places, first)
    ]


def rare(kept: list[Example], tools: list[str]) -> list[str]:
    """Return the tools that come in too few conversations, the rarest first, each as often as it is to be drawn."""
    counts = Counter(name for example in kept for name in {call.name for step in example.steps for call in step.calls})
    rarest = sorted((name for name in tools if counts[name] < ENOUGH), key=lambda name: (counts[name], name))
    return [name for name in rarest for _ in range(FOR_EACH * (ENOUGH - counts[name]))]


def first_of_each(examples: Iterable[Example], wanted: Mapping[Kind, int]) -> list[Example]:
    """The first so many of each kind, in order."""
    seen: Counter[Kind] = Counter()
    kept = []
    for example in examples:
        if seen[example.kind] < wanted[example.kind]:
            seen[example.kind] += 1
            kept.append(example)
    return kept
