"""How the pages of runs write changes; `{% load runs %}`."""

from __future__ import annotations

from django import template
from django.utils.safestring import SafeString

from prove_web.experiments import keeping
from prove_web.experiments.models import Run
from prove_web.experiments.sweep_form import VARIABLE
from prove_web.review.markdown import shown

register = template.Library()

KINDS = {"chain": "Chain", "missing_function": "Missing function", "irrelevance": "Irrelevance"}
ENDS = {
    "answered": "ended with an answer",
    "assistant_turns": "cut at the most assistant turns",
    "calls": "cut at the most calls",
    "tokens": "cut at the most tokens",
    "infrastructure": "the environment failed",
}

MINUS = "\N{MINUS SIGN}"


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
    """Whether a change of a reward is good, bad, or neither as far as its digits tell."""
    if value is None or not round(value, places):
        return "even"
    return "good" if value > 0 else "bad"


@register.filter
def share(value: float | None) -> str:
    """`12.5 %`; a dash for None."""
    return "\N{EN DASH}" if value is None else f"{100 * value:.1f} %"


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
def end_name(end: str) -> str:
    """How a rollout ended, in words."""
    return ENDS.get(end, end)


@register.simple_tag
def bases_of(run: Run) -> list[Run]:
    """The runs that this one may be measured against."""
    return keeping.bases(run)


@register.simple_tag
def tags_known_to(run: Run) -> list[str]:
    """The tags of its project."""
    return keeping.known_tags(run.project)


@register.filter
def markdown(text: str) -> SafeString:
    """What people wrote, as HTML that is safe to show."""
    return shown(text)


@register.filter
def revision(notes: str) -> str:
    return keeping.revision_of(notes)
