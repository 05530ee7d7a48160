"""Call outcomes of a run by tool, as shown in the heat map."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_servers.catalogue import SERVERS
from training_worker.environment.outcomes import OUTCOMES

from .models import Run
from .rollout_index import NONE_OFFERED, Counts
from .tools import server_of

PART = 10  # a tenth of the steps, for the preset ranges
TITLES = {
    "succeeded": "Succeeded",
    "arguments": "Wrong arguments",
    "order": "Wrong order",
    "schema": "Schema error",
    "state": "State error",
    "untried": "Not called",
}
NOT_A_TOOL = "no tool by that name"
FEWEST = 1  # chances required for a tool to be suggested for more data


@dataclass(frozen=True)
class Range:
    """Steps from `first` to `last`, inclusive."""

    first: int
    last: int

    def __str__(self) -> str:
        return f"step {self.first}" if self.first == self.last else f"steps {self.first} to {self.last}"


@dataclass(frozen=True)
class Cell:
    """One outcome of one tool: its count, its share of the tool's chances, and that share in the comparison steps.

    A share is None where there was no chance; `before` is also None without a comparison. `tool` is "" for a whole
    server.
    """

    tool: str
    server: str
    outcome: str
    count: int
    of: int
    before: float | None = None

    @property
    def share(self) -> float | None:
        return part(self.count, self.of)

    @property
    def change(self) -> float | None:
        return None if self.share is None or self.before is None else self.share - self.before

    @property
    def description(self) -> str:
        """Return the cell in words.

        It is built here because a template takes ten times as long for the 2,000 cells of all tools.
        """
        words = "no chance in these steps"
        if self.share is not None:
            words = f"{self.count:,} of {self.of:,} chances, {share_text(self.share)}"
        before = "" if self.before is None else f"; before {share_text(self.before)}"
        return f"{self.tool or self.server or 'Unknown tools'}, {TITLES[self.outcome].lower()}: {words}{before}"

    @property
    def asks(self) -> str:
        """Return the search query that finds the cell's rollouts (search.py)."""
        return f"untried:{self.tool}" if self.outcome == "untried" else f"tool:{self.tool} outcome:{self.outcome}"


@dataclass(frozen=True)
class Line:
    """Counts of a tool, or of all tools of a server.

    `counts` and a nonempty `before` are in the order of OUTCOMES.
    """

    tool: str
    server: str
    counts: tuple[int, ...]
    before: tuple[int, ...] = ()

    @property
    def chances(self) -> int:
        """Return the calls of the tool plus the rollouts that needed it and never called it."""
        return sum(self.counts)

    @property
    def calls(self) -> int:
        return self.chances - self.counts[-1]

    @property
    def has_calls(self) -> bool:
        return bool(self.chances or sum(self.before))

    @property
    def lacking(self) -> float:
        """Return the share of chances in which the tool did not succeed; 0 without chances."""
        return 1 - self.counts[0] / self.chances if self.chances else 0.0

    @property
    def cells(self) -> list[Cell]:
        before = self.before or (0,) * len(OUTCOMES)
        pairs = zip(OUTCOMES, self.counts, before, strict=True)
        return [
            Cell(self.tool, self.server, name, now, self.chances, part(then, sum(before))) for name, now, then in pairs
        ]

    def get_cell(self, outcome: str) -> Cell:
        return self.cells[OUTCOMES.index(outcome)]


@dataclass(frozen=True)
class Section:
    """A server's total line and the lines of its tools."""

    total: Line
    lines: list[Line]


def share_text(value: float | None) -> str:
    """Format a share as `12.5 %`; a dash for None."""
    return "\N{EN DASH}" if value is None else f"{100 * value:.1f} %"


def part(count: int, of: int) -> float | None:
    return count / of if of else None


def tenth(steps: Range, *, last: bool = False) -> Range:
    """Return the first or last tenth of these steps, at least one step."""
    size = max(1, (steps.last - steps.first + 1) // PART)
    return Range(steps.last - size + 1, steps.last) if last else Range(steps.first, steps.first + size - 1)


def counts_in(run: Run, steps: Range) -> Counts:
    """Return the outcome counts of these steps by tool; steps not counted yet are omitted."""
    counted = run.stored_steps.filter(outcomes__isnull=False, step__gte=steps.first, step__lte=steps.last)
    return sum_counts(counted.values_list("outcomes", flat=True).iterator())


def sum_counts(steps: Iterable[Mapping[str, Sequence[int]]]) -> Counts:
    found: Counts = {}
    for one in steps:
        for tool, counts in one.items():
            total = found.setdefault(tool, [0] * len(OUTCOMES))
            for at, count in enumerate(counts):
                total[at] += count
    return found


def lines_of(now: Counts, before: Counts | None, servers: Iterable[str]) -> list[Line]:
    """Return a line for every tool in these servers' catalogues, and for every other tool with counts."""
    order = [tool for server in servers for tool in SERVERS[server].tools]
    names = dict.fromkeys([*order, *sorted(now), *sorted(before or ())])
    none = [0] * len(OUTCOMES)
    return [
        Line(
            tool,
            server_of(tool),
            tuple(now.get(tool, none)),
            () if before is None else tuple(before.get(tool, none)),
        )
        for tool in names
    ]


def filter_lines(lines: Iterable[Line], *, server: str = "", words: str = "", seen: bool = True) -> list[Line]:
    """Return the lines of one server whose tool name contains all words.

    `seen` omits tools that were neither needed nor called.
    """
    return [
        line
        for line in lines
        if (not server or line.server == server)
        and all(word in (line.tool or NOT_A_TOOL).lower() for word in words.lower().split())
        and (line.has_calls or (not seen and line.tool != NONE_OFFERED))
    ]


def sections(lines: Iterable[Line], sort: str) -> list[Section]:
    """Group the lines by server; servers and their tools have the same order."""
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(line.server, []).append(line)
    made = {server: sum_server_lines(server, members) for server, members in found.items()}
    order = sort_lines(list(made.values()), sort)
    return [Section(line, sort_lines(found[line.server], sort)) for line in order]


def sum_server_lines(server: str, lines: Sequence[Line]) -> Line:
    """Return the total of a server's tools."""
    before = tuple(map(sum, zip(*(line.before for line in lines), strict=True)))
    return Line("", server, tuple(map(sum, zip(*(line.counts for line in lines), strict=True))), before)


def sort_lines(lines: list[Line], sort: str) -> list[Line]:
    """Sort by `tool`, `chances`, an outcome's share, or `change-` and an outcome; a leading minus sorts descending.

    Other values keep the order. Lines without a value come last in both directions.
    """
    name = sort.removeprefix("-")
    if name == "tool":
        return sorted(lines, key=lambda line: line.tool or line.server, reverse=sort.startswith("-"))
    value = value_of(name)
    if value is None:
        return lines
    known = [line for line in lines if value(line) is not None]
    known.sort(key=value, reverse=sort.startswith("-"))
    return known + [line for line in lines if value(line) is None]


def value_of(name: str) -> Callable[[Line], Any] | None:
    if name == "chances":
        return lambda line: line.chances
    if name in TITLES:
        return lambda line: line.get_cell(name).share
    if (outcome := name.removeprefix("change-")) in TITLES:
        return lambda line: line.get_cell(outcome).change
    return None


def list_worst_tools(lines: Iterable[Line], most: int) -> list[str]:
    """Return the tools with the most missed chances."""
    known = [line for line in lines if line.server and line.chances >= FEWEST and line.lacking]
    return [line.tool for line in sorted(known, key=lambda line: -line.lacking * line.chances)[:most]]
