"""Estimate of a sweep before launch: cost per run and in total, and when the last run would finish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prove_web.accounts.models import Project
from prove_web.live.models import AT_WORK, Job, State
from prove_web.workers.queue_view import estimate_start_times, of_queue
from prove_web.workers.worker_status import Worker, select_queue_workers, workers
from training_worker.config.memory_estimate import GB, PROCESS

from .models import Run
from .run_estimate import (
    RolloutCost,
    estimate_memory_and_disk,
    folder_of,
    like_of,
    memory_there,
    of_run,
    runs_of,
    size_of,
)
from .run_launch import KIND_OF_JOB
from .sweep_form import PlannedMember


@dataclass(frozen=True)
class MemberEstimate:
    """Estimate for one member: seconds (an upper bound unless `known` from a similar run), tokens, and memory in bytes.

    `tight` marks a member that needs more memory than the workers have.
    """

    varied: Mapping[str, str]
    seconds: float
    known: bool
    source: str
    tokens: float | None = None
    memory: float | None = None
    tight: bool = False


@dataclass(frozen=True)
class Outlook:
    """Estimate of the whole sweep; `done` is in seconds from now, or None with the reason in `why`.

    `before` is the number of queued jobs ahead.
    """

    members: tuple[MemberEstimate, ...]
    before: int
    slots: int
    done: float | None
    why: str

    @property
    def seconds(self) -> float:
        return sum(one.seconds for one in self.members)

    @property
    def known(self) -> bool:
        return all(one.known for one in self.members)

    @property
    def tokens(self) -> float | None:
        known = [one.tokens for one in self.members if one.tokens is not None]
        return sum(known) if len(known) == len(self.members) else None

    @property
    def memory(self) -> float | None:
        return max((one.memory for one in self.members if one.memory is not None), default=None)

    @property
    def tight(self) -> bool:
        return any(one.tight for one in self.members)


def outlook(project: Project, planned: Sequence[PlannedMember]) -> Outlook:
    """Estimate members with valid forms; the number of queries does not grow with the number of members."""
    folders: dict[str, Path | None] = {}
    there: dict[str, tuple[float | None, bool]] = {}
    runs: dict[str, list[Run]] = {}
    paces: dict[int, RolloutCost | None] = {}
    members = []
    for one in planned:
        kind, spec = one.form.cleaned_data["kind"], one.form.spec
        policy, device = str(spec["policy"]), str(spec.get("device", "auto"))
        if kind not in runs:
            runs[kind] = runs_of(project, kind)
        if (like := like_of(spec, runs[kind])) and like.pk not in paces:
            paces[like.pk] = of_run(like)
        if device not in there:
            there[device] = memory_there(device, project.organisation)
        if policy not in folders:
            folders[policy] = folder_of(project, policy)
        members.append(estimate_member(one, folders[policy], paces[like.pk] if like else None, *there[device]))
    return simulate_queue(planned, members, select_queue_workers(workers(project.organisation) or [], "training"))


def estimate_member(
    one: PlannedMember, folder: Path | None, pace: RolloutCost | None, there: float | None, on_gpu: bool
) -> MemberEstimate:
    kind, spec = one.form.cleaned_data["kind"], one.form.spec
    size, most = size_of(kind, spec), 60.0 * spec["minutes"]
    found = estimate_memory_and_disk(folder, kind, spec, there)
    memory = float(found[0].total) + (0.0 if on_gpu else PROCESS) if found else None
    tight = bool(memory and there and memory > there * GB)
    if pace is None:
        return MemberEstimate(one.varied, most, False, "no similar run yet; time limit assumed", None, memory, tight)
    step = pace.seconds * size
    seconds = min(most, step * spec["max_steps"])
    steps = min(spec["max_steps"], int(most / step)) if step else spec["max_steps"]
    tokens = pace.tokens * size * steps if pace.tokens else None
    return MemberEstimate(one.varied, seconds, True, pace.source, tokens, memory, tight)


def simulate_queue(
    planned: Sequence[PlannedMember], members: Sequence[MemberEstimate], there: Sequence[Worker]
) -> Outlook:
    """Simulate the queue: members follow the jobs already queued, each on the next free worker."""
    jobs = Job.objects.select_related("after").defer("result")
    waiting = of_queue("training", jobs.filter_queued())
    working = of_queue("training", jobs.filter(state__in=AT_WORK))
    ours = [job_of(one) for one in planned]
    took: dict[Any, float | None] = {job.pk: one.seconds for job, one in zip(ours, members, strict=True)}
    slots = sum(one.slots for one in there)
    starts = estimate_start_times([*waiting, *ours], working, slots, took)
    ends = [starts[job.pk] + (took[job.pk] or 0.0) for job in ours if job.pk in starts]
    if len(ends) < len(ours):
        why = "a job ahead in the queue has no time estimate" if slots else "no training worker is connected"
        return Outlook(tuple(members), len(waiting), slots, None, why)
    return Outlook(tuple(members), len(waiting), slots, max(ends), "")


def job_of(one: PlannedMember) -> Job:
    """Return an unsaved job for the member."""
    return Job(kind=KIND_OF_JOB[one.form.cleaned_data["kind"]], spec=one.form.spec, state=State.QUEUED)
