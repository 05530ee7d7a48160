"""Template filters of run pages; `{% load runs %}`."""

from __future__ import annotations

from typing import Any

from django import template
from django.template.defaultfilters import date
from django.utils.safestring import SafeString

from prove_web.experiments import chance, run_metadata
from prove_web.experiments.metric_series import number
from prove_web.experiments.models import Run
from prove_web.experiments.sweep_form import VARIABLE
from prove_web.experiments.table.columns import Measure
from prove_web.experiments.table.rows import format_measure as measured_figure
from prove_web.experiments.table.run_groups import ColumnAggregate
from prove_web.experiments.table.settings import Setting
from prove_web.experiments.tool_outcomes import TITLES, share_text
from prove_web.live.templatetags.kit import MINUS
from prove_web.review.markdown import render_markdown

register = template.Library()
register.filter("share", share_text)

KINDS = {"chain": "Chain", "missing_function": "Missing function", "irrelevance": "Irrelevance"}
ENDS = {
    "answered": "answered",
    "assistant_turns": "turn limit reached",
    "calls": "call limit reached",
    "tokens": "token limit reached",
    "infrastructure": "environment error",
}


@register.filter
def signed(value: float | None, places: int = 3) -> str:
    """Format a signed change, `+0.012` or `0.000`, with a typographic minus; empty for None."""
    if value is None:
        return ""
    text = f"{abs(value):.{places}f}"
    if not float(text):
        return text
    return ("+" if value > 0 else MINUS) + text


@register.filter
def tone(value: float | None, places: int = 3) -> str:
    """Return good, bad or even for a reward change without uncertainty, at the given precision."""
    if value is None or not round(value, places):
        return "even"
    return "good" if value > 0 else "bad"


@register.simple_tag
def chance_tone(low: Any, high: Any) -> str:
    """Return good, bad or even for a difference with this 95 % interval; even without an interval."""
    return chance.tone(low, high) if number(low) and number(high) else "even"


@register.filter
def points(change: float | None) -> str:
    """Format the change of a share in percentage points with its sign: `+1.5`."""
    return "" if change is None else signed(100 * change, 1)


@register.filter
def negative(value: float) -> float:
    return -value


@register.filter
def kind_name(kind: str) -> str:
    return KINDS.get(kind, kind)


@register.filter
def setting_name(field: str) -> str:
    """Return the launch form's title of a setting."""
    return VARIABLE.get(field, field)


@register.filter
def outcome_name(outcome: str) -> str:
    """Return the title of a call outcome."""
    return TITLES.get(outcome, outcome)


@register.filter
def end_name(end: str) -> str:
    """Return the finish reason of a rollout in words."""
    return ENDS.get(end, end)


@register.simple_tag
def bases_of(run: Run) -> list[Run]:
    """Return the runs offered as a baseline."""
    return run_metadata.bases(run)


@register.simple_tag
def tags_known_to(run: Run) -> list[str]:
    """Return the tags used in the run's project."""
    return run_metadata.known_tags(run.project)


@register.filter
def markdown(text: str) -> SafeString:
    """Render user-written Markdown as safe HTML."""
    return render_markdown(text)


@register.filter
def revision(notes: str) -> str:
    return run_metadata.revision_of(notes)


@register.filter
def beside(names: list[str], name: str) -> list[str]:
    """Return the names with one more appended."""
    return [*names, name]


@register.filter
def without(names: list[str], name: str) -> list[str]:
    return [one for one in names if one != name]


@register.filter
def also(query: str, term: str) -> str:
    """Return a search query with an additional term."""
    own = f"({query.strip()})" if " OR " in query else query.strip()
    return f"{own} {term}".strip()


@register.filter
def mean_text(sum_of: ColumnAggregate) -> str:
    return figure(sum_of, sum_of.mean)


@register.filter
def deviation_text(sum_of: ColumnAggregate) -> str:
    return figure(sum_of, sum_of.deviation)


def figure(sum_of: ColumnAggregate, value: float | None) -> str:
    if isinstance(sum_of.column, Measure):
        return measured_figure(sum_of.column, value or 0.0)
    return f"{value:.3g}"


@register.filter
def low_text(sum_of: ColumnAggregate) -> str:
    return end_text(sum_of, sum_of.low)


@register.filter
def range_text(sum_of: ColumnAggregate) -> str:
    """Return the range of a number or time in a group; otherwise "several"."""
    if sum_of.column.key == "when" or sum_of.column.numeric:
        return f"{end_text(sum_of, sum_of.low)} \N{EN DASH} {end_text(sum_of, sum_of.high)}"
    return "several"


def end_text(sum_of: ColumnAggregate, value: Any) -> str:
    if isinstance(sum_of.column, Setting):
        return sum_of.column.text(value)
    return date(value, "j M") if sum_of.column.key == "when" else str(value)
