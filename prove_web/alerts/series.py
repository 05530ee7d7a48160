"""The curves that rules are about, as they are stored now."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q, QuerySet

from prove_web.experiments.defaults import DEFAULTS
from prove_web.experiments.metric_series import number
from prove_web.experiments.models import Run
from training_worker.prove.alerts.rule_engine import Condition, Value, overfitted

from .models import Rule

FINITE = ("loss", "reward", "kl", "entropy", "grad_norm")
START = 20  # steps, at most, that a change is measured against; a tenth of those planned where that is less


def condition_of(rule: Rule, run: Run) -> Condition:
    """What the rule asks of this run, whose first tenth of steps is the start."""
    planned = run.config.get("max_steps", DEFAULTS["max_steps"])
    tenth = int(planned) // 10 if number(planned) else START
    first = max(rule.over, min(START, max(1, tenth)))
    return Condition(rule.comparison, rule.threshold, rule.aggregate, rule.over, first)


def values_of(rule: Rule, run: Run) -> list[Value]:
    """What the rule judges, in the order of the steps."""
    match rule.source, rule.measured:
        case "derived", "finite":
            return finite(run.points.all(), FINITE)
        case "derived", _:
            return overfitted(stored(run.held_out.all(), "reward"), stored(run.points.all(), "reward"))
        case "patterns", name:
            looked = run.patterns.order_by("step").values_list("step", f"found__{name}__share")
            return [(step, share) for step, share in looked if number(share)]
        case source, name:
            table = run.held_out.all() if source == "held_out" else run.points.all()
            return finite(table, [name]) if rule.comparison == "not_finite" else stored(table, name)


def stored(table: QuerySet, name: str) -> list[Value]:
    """The steps that tell of a metric, with its values."""
    told = table.order_by("step").values_list("step", f"metrics__{name}")
    return [(step, value) for step, value in told if number(value)]


def finite(table: QuerySet, names: Sequence[str]) -> list[Value]:
    """Every step with 1, or with None where one of these metrics was told and is no number, which is stored as null."""
    broken = Q()
    for name in names:
        broken |= Q(**{f"metrics__{name}": None})
    odd = set(table.filter(broken).values_list("step", flat=True))
    return [(step, None if step in odd else 1.0) for step in table.order_by("step").values_list("step", flat=True)]
