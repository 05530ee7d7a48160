"""The baseline of a run: the one chosen on its page, the one set for it, or the one pinned in the project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from prove_web.core.parse_int import parse_digits

from .metric_series import number
from .models import Run
from .run_metadata import in_sight

OFFERED = 50  # choices in the run page's selector
NONE = "none"
Metrics = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Baseline:
    """A baseline at the newest `step` that both runs have.

    `ours` and `theirs` are the metrics of the steps up to it.
    """

    run: Run
    step: int = 0
    ours: Metrics = ()
    theirs: Metrics = ()
    held_out: tuple[float, float] | None = None  # ours and theirs, at the newest step that both measured


def choose_baseline(run: Run, wanted: str) -> Run | None:
    """Return the run that `?base=` names by number, else the one set for this run, else the newest pinned run."""
    if wanted == NONE:
        return None
    if (number := parse_digits(wanted)) is not None and (named := list_other_runs(run).filter(number=number).first()):
        return named
    if run.base_id and (base := list_other_runs(run).filter(pk=run.base_id).first()):
        return base
    return list_other_runs(run).filter(pinned=True).first()


def list_other_runs(run: Run) -> QuerySet[Run]:
    """Return the other runs of the run's project, newest first."""
    return in_sight(run.project).exclude(pk=run.pk).defer("config", "notes")


def choices(run: Run) -> list[tuple[int, str]]:
    """Return number and name of the runs offered as a baseline: pinned ones first, then the newest."""
    rows = list_other_runs(run).order_by("-pinned", "-number").values_list("number", "name")
    return list(rows[:OFFERED])


def baseline(run: Run, base: Run | None, last: int, window: int) -> Baseline | None:
    """Return both runs' metrics of the `window` steps up to the newest common step; `last` is this run's newest."""
    if base is None:
        return None
    theirs = base.points.order_by("-step").values_list("step", flat=True).first() or 0
    step = min(last, theirs)
    span = Q(step__gt=step - window, step__lte=step)
    both = (list(one.points.filter(span).values_list("metrics", flat=True)) if step else [] for one in (run, base))
    ours, others = both
    return Baseline(base, step, ours, others, find_common_rewards(run, base))


def find_common_rewards(run: Run, base: Run) -> tuple[float, float] | None:
    ours, theirs = (dict(one.held_out.values_list("step", "metrics__reward")) for one in (run, base))
    both = [step for step in ours.keys() & theirs.keys() if number(ours[step]) and number(theirs[step])]
    return (ours[max(both)], theirs[max(both)]) if both else None
