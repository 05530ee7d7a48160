"""How the pages of runs write changes; `{% load runs %}`."""

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
from prove_web.experiments.table.grouping import Summed
from prove_web.experiments.table.rows import worded as measured_figure
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
    """`+0.012` or `0.000`: a change with its sign, a minus as wide as a plus; nothing for None."""
    if value is None:
        return ""
    text = f"{abs(value):.{places}f}"
    if not float(text):
        return text
    return ("+" if value > 0 else MINUS) + text


@register.filter
def tone(value: float | None, places: int = 3) -> str:
    """Whether a change of a reward that no chance is in is good, bad, or neither as far as its digits tell."""
    if value is None or not round(value, places):
        return "even"
    return "good" if value > 0 else "bad"


@register.simple_tag
def chance_tone(low: Any, high: Any) -> str:
    """Whether a difference of this 95 % interval is good, bad, or within chance; without an interval it is neither."""
    return chance.tone(low, high) if number(low) and number(high) else "even"


@register.filter
def points(change: float | None) -> str:
    """The change of a share in percentage points, with its sign: `+1.5`."""
    return "" if change is None else signed(100 * change, 1)


@register.filter
def negative(value: float) -> float:
    return -value


@register.filter
def kind_name(kind: str) -> str:
    return KINDS.get(kind, kind)


@register.filter
def setting_name(field: str) -> str:
    """What the launch form calls a setting."""
    return VARIABLE.get(field, field)


@register.filter
def outcome_name(outcome: str) -> str:
    """What became of a call, as a heading says it."""
    return TITLES.get(outcome, outcome)


@register.filter
def end_name(end: str) -> str:
    """How a rollout ended, in words."""
    return ENDS.get(end, end)


@register.simple_tag
def bases_of(run: Run) -> list[Run]:
    """The runs that this one may be measured against."""
    return run_metadata.bases(run)


@register.simple_tag
def tags_known_to(run: Run) -> list[str]:
    """The tags of its project."""
    return run_metadata.known_tags(run.project)


@register.filter
def markdown(text: str) -> SafeString:
    """What people wrote, as HTML that is safe to show."""
    return render_markdown(text)


@register.filter
def revision(notes: str) -> str:
    return run_metadata.revision_of(notes)


@register.filter
def beside(names: list[str], name: str) -> list[str]:
    """The names of an address, and one more."""
    return [*names, name]


@register.filter
def without(names: list[str], name: str) -> list[str]:
    return [one for one in names if one != name]


@register.filter
def also(query: str, term: str) -> str:
    """A search that also asks for a term."""
    own = f"({query.strip()})" if " OR " in query else query.strip()
    return f"{own} {term}".strip()


@register.filter
def mean_text(sum_of: Summed) -> str:
    return figure(sum_of, sum_of.mean)


@register.filter
def deviation_text(sum_of: Summed) -> str:
    return figure(sum_of, sum_of.deviation)


def figure(sum_of: Summed, value: float | None) -> str:
    if isinstance(sum_of.column, Measure):
        return measured_figure(sum_of.column, value or 0.0)
    return f"{value:.3g}"


@register.filter
def low_text(sum_of: Summed) -> str:
    return end_text(sum_of, sum_of.low)


@register.filter
def range_text(sum_of: Summed) -> str:
    """The ends of what a group has, where it is a number or a time; otherwise that it varies."""
    if sum_of.column.key == "when" or sum_of.column.numeric:
        return f"{end_text(sum_of, sum_of.low)} \N{EN DASH} {end_text(sum_of, sum_of.high)}"
    return "several"


def end_text(sum_of: Summed, value: Any) -> str:
    if isinstance(sum_of.column, Setting):
        return sum_of.column.text(value)
    return date(value, "j M") if sum_of.column.key == "when" else str(value)
