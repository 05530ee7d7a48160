"""Terminal output of long work: a line per finished stage, and a live bar for the current one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

PLAIN_EVERY = 10.0
WIDTH = 120  # of a stream that is not a terminal


class Bar:
    """The current stage: `set` moves the bar, `say` is the text beside it.

    Without a terminal it prints a line every PLAIN_EVERY seconds, except one that repeats the line before.
    """

    def __init__(self, console: Console, title: str, progress: Progress | None, task: TaskID | None):
        self.console, self.title, self.progress, self.task = console, title, progress, task
        self.printed, self.line = time.monotonic(), ""

    def set(self, done: float, total: float, say: str = "") -> None:
        if self.progress is not None and self.task is not None:
            self.progress.update(self.task, completed=done, total=total, say=say)
        elif time.monotonic() - self.printed >= PLAIN_EVERY:
            line = f"  {self.title}: {100 * done / max(total, 1e-9):.0f}%  {say}"
            if line != self.line:
                self.printed, self.line = time.monotonic(), line
                self.console.print(line, highlight=False)


@contextmanager
def bar(console: Console, title: str) -> Iterator[Bar]:
    """Show a bar that disappears when its stage is over."""
    if not console.is_terminal:
        yield Bar(console, title, None, None)
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description:<11}"),
        BarColumn(24),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[say]}"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield Bar(console, title, progress, progress.add_task(title, total=None, say=""))


@contextmanager
def show_count_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar on stderr with a count; yield a function that takes how much is done, of how much."""
    with bar(Console(stderr=True), title) as progress:
        yield lambda done, total: progress.set(done, total, f"{done:,} of {total:,}")


@contextmanager
def show_time_left_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar on stderr with the time left; yield a function that takes how much is done, of how much.

    The time left is estimated from what was done since the bar began.
    """
    began, first = time.monotonic(), -1
    with bar(Console(stderr=True), title) as display:

        def progress(done: int, total: int) -> None:
            nonlocal first
            first = done if first < 0 else first
            left = (time.monotonic() - began) / (done - first) * (total - done) if done > first else None
            display.set(done, total, f"{done:,} of {total:,}{'' if left is None else f', about {duration(left)} left'}")

        yield progress


def duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds > 90 else f"{seconds:.0f} s"


def console(stream: TextIO) -> Console:
    """Return a console for a stream, which need not be a terminal."""
    return Console(file=stream, width=None if stream.isatty() else WIDTH)


def table(console: Console, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows under their columns: the first aligned left, the others, which are numbers, right."""
    grid = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for position, column in enumerate(columns):
        grid.add_column(column, justify="right" if position else "left", no_wrap=True)
    for row in rows:
        grid.add_row(*(f"{cell:.3f}" if isinstance(cell, float) else "" if cell is None else str(cell) for cell in row))
    console.print(grid)


SPARKS = "▁▂▃▄▅▆▇█"


def sparkline(values: list[float], width: int = 30) -> str:
    """Return a curve in one line of text, from its lowest to its highest value."""
    if not values:
        return ""
    size = max(1, -(-len(values) // width))
    groups = [values[i : i + size] for i in range(0, len(values), size)]
    means = [round(sum(group) / len(group), 9) for group in groups]  # otherwise a flat curve shows rounding errors
    low, high = min(means), max(means)
    return "".join(SPARKS[round((mean - low) / (high - low or 1) * (len(SPARKS) - 1))] for mean in means)
