"""Evaluation of alert rules on runs: alerts fire once, clear when the condition ends, and are voided by rewinds.

The alerts of a metric depend only on the rule and the stored metric, so evaluating again changes nothing, and alerts on
rewound steps disappear.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, Max, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from prove_web.experiments.defaults import DEFAULTS
from prove_web.experiments.metric_series import number
from prove_web.experiments.models import Run, StepRollouts
from prove_web.experiments.reward_config import scored_at
from prove_web.experiments.rollout_storage import StoredRun
from prove_web.experiments.rollouts import NoRollouts, convert_read_errors
from prove_web.live.health import HealthCheckError, free_bytes
from prove_web.live.models import AT_WORK, State
from training_worker.core.trajectory import Rollout, WorldRef, adapter
from training_worker.monitoring.alerts.patterns import Pattern, patterns
from training_worker.monitoring.alerts.rule_engine import EASE, Condition, Episode, Value, episodes, measure_overfitting
from training_worker.store.folder import read_rollouts

from .models import Alert, Patterns, Rule, Watched
from .notifications import send_alert_notifications

# Metric series as currently stored, for rule evaluation.

FINITE = ("loss", "reward", "kl", "entropy", "grad_norm")
START = 20  # maximum number of first steps that a change is measured from; at most a tenth of the planned steps


def condition_of(rule: Rule, run: Run) -> Condition:
    """Return the rule's condition for this run; changes are measured from its first steps."""
    planned = run.config.get("max_steps", DEFAULTS["max_steps"])
    tenth = int(planned) // 10 if number(planned) else START
    first = max(rule.over, min(START, max(1, tenth)))
    return Condition(rule.comparison, rule.threshold, rule.aggregate, rule.over, first)


def values_of(rule: Rule, run: Run) -> list[Value]:
    """Return the values that the rule evaluates, in step order."""
    match rule.source, rule.measured:
        case "derived", "finite":
            return finite(run.points.all(), FINITE)
        case "derived", _:
            return measure_overfitting(
                load_metric_values(run.held_out.all(), "reward"), load_metric_values(run.points.all(), "reward")
            )
        case "patterns", name:
            looked = run.patterns.order_by("step").values_list("step", f"found__{name}__share")
            return [(step, share) for step, share in looked if number(share)]
        case source, name:
            table = run.held_out.all() if source == "held_out" else run.points.all()
            return finite(table, [name]) if rule.comparison == "not_finite" else load_metric_values(table, name)


def load_metric_values(table: QuerySet, name: str) -> list[Value]:
    """Return the steps and values of a metric."""
    rows = table.order_by("step").values_list("step", f"metrics__{name}")
    return [(step, value) for step, value in rows if number(value)]


def finite(table: QuerySet, names: Sequence[str]) -> list[Value]:
    """Return each step with 1, or with None where one of these metrics was non-finite (stored as null)."""
    broken = Q()
    for name in names:
        broken |= Q(**{f"metrics__{name}": None})
    odd = set(table.filter(broken).values_list("step", flat=True))
    return [(step, None if step in odd else 1.0) for step in table.order_by("step").values_list("step", flat=True)]


# Pattern scan of a step's rollouts, done once and stored.

AT_ONCE = 20  # steps scanned per evaluation; the rest follow in the next one
log = logging.getLogger(__name__)


def scan_new_steps(run: Run) -> None:
    """Scan the steps that are new or changed. A step whose file has not arrived is left for later."""
    for rollouts in list_unscanned_steps(run)[:AT_ONCE]:
        try:
            found = scan_step_patterns(run, rollouts.step)
        except NoRollouts as why:
            log.info("The rollouts of step %s of run %s cannot be scanned yet: %s", rollouts.step, run.pk, why)
            continue
        values = {"digest": rollouts.digest, "found": {name: asdict(one) for name, one in found.items()}}
        Patterns.objects.update_or_create(run=run, step=rollouts.step, defaults=values)
    same_step = run.stored_steps.filter(step=OuterRef("step"))
    run.patterns.annotate(now=Subquery(same_step.values("digest")[:1])).filter(now=None).delete()


def list_unscanned_steps(run: Run) -> QuerySet[StepRollouts]:
    """Return unscanned steps, newest first because current behaviour matters most."""
    looked = run.patterns.filter(step=OuterRef("step"), digest=OuterRef("digest"))
    return (
        run.stored_steps.annotate(looked=Subquery(looked.values("pk")[:1]))
        .filter(looked=None)
        .order_by(F("step").desc())
    )


def scan_step_patterns(run: Run, step: int) -> dict[str, Pattern]:
    """Return the patterns of a step. Raises NoRollouts."""
    with convert_read_errors(run, step):
        rollouts = list(read_rollouts(StoredRun(run), [step]))
    return patterns(rollouts, worlds_of(run, rollouts), max(1.0, scored_at(run, step).largest))


def worlds_of(run: Run, rollouts: list[Rollout]) -> dict[str, WorldRef]:
    """Return the worlds of the rollouts' examples by id; external servers are left out."""
    names = {one.example for one in rollouts}
    rows = run.conversations.filter(example__in=names).values_list("example", "record__world")
    return {name: adapter(WorldRef).validate_python(world) for name, world in rows if world and world["servers"]}


@dataclass(frozen=True)
class RuleState:
    """State of a rule about the run itself: whether it fires, the key of the occasion, and the value."""

    fires: bool
    key: str
    value: float | None = None
    over: bool = False  # informational: cleared immediately


def rules_of(run: Run) -> list[Rule]:
    rules = Rule.objects.filter(project=run.project_id, enabled=True, removed_at=None)
    return [rule for rule in rules if rule.covers(run)]


def watch(run: Run) -> None:
    """Evaluate all rules of the project on a run."""
    rules = rules_of(run)
    if not rules:
        return
    cursor = run.job.events.aggregate(last=Max("id"))["last"] or 0  # read first, so that later events are not missed
    if any(rule.source == "patterns" for rule in rules):
        scan_new_steps(run)
    found = {rule: episodes(condition_of(rule, run), values_of(rule, run)) for rule in rules if rule.source != "run"}
    last = run.points.aggregate(last=Max("step"))["last"] or 0
    with transaction.atomic():
        watched, _ = Watched.objects.select_for_update(no_key=True).get_or_create(run=run)
        if watched.cursor > cursor:
            return  # a concurrent evaluation has seen newer events
        watched.cursor = cursor
        watched.save()
        for rule in rules:
            fresh = of_curve(rule, run, found[rule]) if rule in found else of_run(rule, run, last)
            send_alert_notifications(fresh)


def of_curve(rule: Rule, run: Run, found: list[Episode]) -> list[Alert]:
    """Synchronise a rule's alerts with the metric; return new alerts that are not cleared yet."""
    known = {one.key: one for one in Alert.objects.filter(rule=rule, run=run)}
    fresh: list[Alert] = []
    for episode in found:
        key = f"step-{episode.first}"
        over = {"cleared_step": episode.last, "voided_at": None, "value": episode.value}
        if (alert := known.pop(key, None)) is None:
            made = write(rule, run, key, episode.first, over | {"cleared_at": timezone.now() if episode.last else None})
            fresh += [made] if episode.last is None else []
        else:
            at = (alert.cleared_at or timezone.now()) if episode.last is not None else None
            change(alert, over | {"cleared_at": at})
    for gone in known.values():
        change(gone, {"voided_at": gone.voided_at or timezone.now()})
    return fresh


def of_run(rule: Rule, run: Run, step: int) -> list[Alert]:
    """Synchronise the alerts of a rule about the run itself; earlier occasions are cleared."""
    now = compute_rule_state(rule, run, timezone.now())
    known = {one.key: one for one in Alert.objects.filter(rule=rule, run=run)}
    here = known.pop(now.key, None)
    for earlier in known.values():
        change(earlier, {"cleared_at": earlier.cleared_at or timezone.now()})
    if here is not None and not now.over:
        change(here, {"cleared_at": None if now.fires else here.cleared_at or timezone.now()})
    if here is None and now.fires:
        ends = timezone.now() if now.over else None
        return [write(rule, run, now.key, step, {"value": now.value, "cleared_at": ends})]
    return []


def compute_rule_state(rule: Rule, run: Run, now: datetime) -> RuleState:
    """Return the state of a rule about the run itself."""
    job = run.job
    attempt, at_work = f"attempt-{job.attempt}", job.state in AT_WORK
    match rule.measured:
        case "failed":
            return RuleState(job.state in (State.FAILED, State.LOST), attempt)
        case "done":
            return RuleState(job.state == State.DONE, attempt, over=True)
        case "silence":
            heard = job.beat_at or job.sent_at or job.created_at
            silent = (now - heard).total_seconds()
            return RuleState(at_work and silent > rule.threshold, f"{attempt}-{heard:%y%m%d%H%M%S}", round(silent, 1))
        case _:
            free = free_gb()
            fires = at_work and free is not None and low(rule, run, free, attempt)
            return RuleState(fires, attempt, free)


def low(rule: Rule, run: Run, free: float, attempt: str) -> bool:
    """Return whether the disk is full, or was full and has not recovered enough (hysteresis)."""
    alerted = Alert.objects.filter(rule=rule, run=run, key=attempt, cleared_at=None).exists()
    return free < rule.threshold * (1 + EASE * alerted)


def free_gb() -> float | None:
    try:
        return round(free_bytes() / 1e9, 1)
    except HealthCheckError:
        return None


def write(rule: Rule, run: Run, key: str, step: int, values: dict[str, Any]) -> Alert:
    made: Alert = Alert.objects.create(
        project_id=run.project_id, rule=rule, run=run, key=key, step=step, threshold=rule.threshold, **values
    )
    return made


def change(alert: Alert, values: dict[str, Any]) -> None:
    """Update the fields that differ."""
    different = {name: value for name, value in values.items() if getattr(alert, name) != value}
    if different:
        Alert.objects.filter(pk=alert.pk).update(**different)
