"""Dry runs: one step on a few prompts before a run is launched, cached by settings."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from django.db import transaction

from prove_web.accounts.locks import lock_active_project
from prove_web.accounts.models import Project, User
from prove_web.live.jobs import enqueue, request_stop
from prove_web.live.models import ENDED, Job, Kind, State, StopLevel
from training_worker.evaluation.intervals import Score, wilson

PROMPTS = 16
# settings that do not affect a single step
BESIDE = {
    *("minutes", "max_steps", "evaluate_every", "held_out", "patience", "decay", "warmup_steps", "learning_rate"),
    *("prompts", "zero_variance", "processes", "sharding"),
}


@dataclass(frozen=True)
class Trial:
    """A dry run and, once it is done, its result (see training_worker/jobs/dry_run.py)."""

    job: Job

    @property
    def done(self) -> bool:
        return self.job.state == State.DONE

    @property
    def result(self) -> dict[str, Any]:
        found: dict[str, Any] = self.job.result if self.done else {}
        return found

    @property
    def dead(self) -> Score | None:
        """Return the share of zero-variance groups with its interval; None where no group could be scored."""
        groups = len(self.result.get("groups", ()))
        return wilson(self.result["dead"] / groups, groups) if groups else None

    @property
    def spreads(self) -> list[tuple[float, float]]:
        """Return mean and standard deviation of each group's rewards, largest standard deviation first."""
        return sorted(((mean, spread) for mean, spread in self.result.get("groups", ())), key=lambda one: -one[1])


def title_of(spec: dict[str, Any]) -> str:
    """Return the job title for these settings, which also serves as the cache key."""
    counted = {name: value for name, value in spec.items() if name not in BESIDE}
    digest = blake2b(json.dumps(counted, sort_keys=True).encode(), digest_size=6).hexdigest()
    return f"Trial of {PROMPTS} prompts, {digest}"


def trial_of(project: Project, spec: dict[str, Any]) -> Trial | None:
    """Return the newest dry run of these settings in a project."""
    jobs = Job.objects.filter(project=project, kind=Kind.TRIAL, title=title_of(spec))
    job = jobs.select_related("project__organisation", "after").order_by("-created_at").first()
    return Trial(job) if job else None


@transaction.atomic
def begin(project: Project, user: User, spec: dict[str, Any]) -> Trial:
    """Start a dry run of these settings, unless one is done or running.

    It goes ahead of the project's other jobs because it is short.
    """
    lock_active_project(project)
    known = trial_of(project, spec)
    if known and (known.done or not known.job.ended):
        return known
    job = Job.objects.create(
        project=project,
        kind=Kind.TRIAL,
        title=title_of(spec),
        spec={**spec, "prompts": PROMPTS},
        created_by=user,
        priority=1,
    )
    enqueue(job)
    return Trial(job)


def end(project: Project, spec: dict[str, Any]) -> None:
    known = trial_of(project, spec)
    if known and known.job.state not in ENDED:
        request_stop(known.job, StopLevel.NOW)
