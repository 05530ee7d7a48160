"""Looking at a step's rollouts once for the patterns in them, and keeping what was seen."""

from __future__ import annotations

import logging
from dataclasses import asdict

from django.db.models import F, OuterRef, QuerySet, Subquery

from prove_web.experiments.models import Run, StepRollouts
from prove_web.experiments.reward_config import scored_at
from prove_web.experiments.rollout_storage import StoredRun
from prove_web.experiments.rollouts import NoRollouts, explained
from training_worker.prove.alerts.patterns import Pattern, patterns
from training_worker.prove.store.folder import read_rollouts
from training_worker.prove.trajectory import Rollout, WorldRef, adapter

from .models import Patterns

AT_ONCE = 20  # steps that are looked at in one go; what is left is looked at in the next
log = logging.getLogger(__name__)


def look(run: Run) -> None:
    """Look at the steps that were not looked at as they are now. One whose file is not there yet is left for later."""
    for kept in unseen(run)[:AT_ONCE]:
        try:
            found = seen(run, kept.step)
        except NoRollouts as why:
            log.info("Step %s of run %s is not looked at yet: %s", kept.step, run.pk, why)
            continue
        values = {"digest": kept.digest, "found": {name: asdict(one) for name, one in found.items()}}
        Patterns.objects.update_or_create(run=run, step=kept.step, defaults=values)
    told = run.kept.filter(step=OuterRef("step"))
    run.patterns.annotate(now=Subquery(told.values("digest")[:1])).filter(now=None).delete()


def unseen(run: Run) -> QuerySet[StepRollouts]:
    """The newest first: what a run does now matters most."""
    looked = run.patterns.filter(step=OuterRef("step"), digest=OuterRef("digest"))
    return run.kept.annotate(looked=Subquery(looked.values("pk")[:1])).filter(looked=None).order_by(F("step").desc())


def seen(run: Run, step: int) -> dict[str, Pattern]:
    """The patterns of a step. Raises NoRollouts."""
    with explained(run, step):
        rollouts = list(read_rollouts(StoredRun(run), [step]))
    return patterns(rollouts, worlds_of(run, rollouts), max(1.0, scored_at(run, step).largest))


def worlds_of(run: Run, rollouts: list[Rollout]) -> dict[str, WorldRef]:
    """The worlds of what the rollouts were asked, by the example's id; those of others' servers are left out."""
    names = {one.example for one in rollouts}
    told = run.conversations.filter(example__in=names).values_list("example", "record__world")
    return {name: adapter(WorldRef).validate_python(world) for name, world in told if world and world["servers"]}
