"""The terminal: a bar where there is one, a line now and then where there is none, and curves in one line."""

from __future__ import annotations

from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from training_worker.core.terminal import SPARKS, bar, sparkline

curves = st.lists(st.integers(-9_000, 9_000).map(lambda value: value / 1_000), min_size=1, max_size=120)


@given(curves, st.integers(1, 40))
def test_a_curve_fits_its_width_and_spans_from_lowest_to_highest(values: list[float], width: int) -> None:
    drawn = sparkline(values, width)
    assert 1 <= len(drawn) <= width and set(drawn) <= set(SPARKS) and SPARKS[0] in drawn
    if len(values) <= width:
        assert drawn[values.index(min(values))] == SPARKS[0]
        assert min(values) == max(values) or drawn[values.index(max(values))] == SPARKS[-1]


@given(st.floats(-100, 100), st.integers(1, 100))
def test_a_flat_curve_is_flat(value: float, length: int) -> None:
    assert set(sparkline([value] * length)) == {SPARKS[0]}


def test_no_values_are_no_curve_and_a_rising_one_rises() -> None:
    assert sparkline([]) == ""
    assert sparkline(list(range(8))) == SPARKS


def test_without_a_terminal_progress_is_a_plain_line_when_it_is_due() -> None:
    out = StringIO()
    console = Console(file=out, force_terminal=False, width=100)
    with bar(console, "graph") as progress_bar:
        progress_bar.set(1, 4, "too early")
        progress_bar.printed = float("-inf")
        progress_bar.set(2, 4, "pairs")
        progress_bar.set(3, 4, "too early again")
        progress_bar.printed = float("-inf")
        progress_bar.set(2, 4, "pairs")
        progress_bar.set(0, 0)
    assert out.getvalue().splitlines() == ["  graph: 50%  pairs", "  graph: 0%  "]


def test_with_a_terminal_there_is_a_bar_that_is_gone_at_the_end() -> None:
    out = StringIO()
    console = Console(file=out, force_terminal=True, width=100, color_system=None)
    with bar(console, "graph") as progress_bar:
        progress_bar.set(3, 4, "pairs")
        assert progress_bar.progress is not None
        (task,) = progress_bar.progress.tasks
        assert (task.description, task.completed, task.total, task.fields["say"]) == ("graph", 3, 4, "pairs")
    assert progress_bar.progress.finished is False and "\x1b[2K" in out.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
def test_trouble_inside_a_bar_comes_out(terminal: bool) -> None:
    console = Console(file=StringIO(), force_terminal=terminal, width=100)
    with pytest.raises(RuntimeError, match="trouble"), bar(console, "graph"):
        raise RuntimeError("trouble")
