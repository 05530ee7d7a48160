"""View of a job queue: running and waiting jobs, why each waits, and when it is expected to start."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from heapq import heapify, heapreplace
from statistics import median
from typing import Any

from django.db.models import Count
from django.utils import timezone

from prove_web.live.jobs import is_dependency_done
from prove_web.live.models import AT_WORK, Job, State

from .capabilities import describe_missing_capability
from .worker_status import Worker, select_queue_workers

MOST = 1000  # jobs considered per queue
LIKE = 15  # finished jobs used for the estimate
RELATED = ("project__organisation", "after", "created_by")


@dataclass(frozen=True)
class Turn:
    """A waiting job: its position from 1, the reason it waits, and the estimated seconds until it starts."""

    number: int
    job: Job
    mine: bool  # whether the user may see the job
    ours: bool  # whether it belongs to the current project
    why: str
    seconds: float | None


@dataclass(frozen=True)
class Line:
    """One queue; `busy` of `slots` worker slots are in use."""

    queue: str
    turns: list[Turn]
    working: list[tuple[Job, bool]]  # with whether the user may see the job
    workers: list[Worker]

    @property
    def slots(self) -> int:
        return sum(worker.slots for worker in self.workers)

    @property
    def busy(self) -> int:
        return len(self.working)


def counts() -> dict[str, int]:
    """Return the number of queued and running jobs by queue."""
    active = Job.objects.filter(state__in=(State.QUEUED, *AT_WORK)).order_by().with_queue()
    return dict(active.values_list("line_of").annotate(Count("id")))


def line(queue: str, project: Any, mine: Collection[int], workers: Sequence[Worker]) -> Line:
    """Return a queue as shown in a project to a user with access to the projects `mine`."""
    related = Job.objects.select_related(*RELATED).defer("result")
    working = of_queue(queue, related.filter(state__in=AT_WORK).order_by("started_at", "id"))
    waiting = of_queue(queue, related.filter_queued())
    there = select_queue_workers(workers, queue)
    starts = estimate_start_times(waiting, working, sum(one.slots for one in there))
    places = {job.pk: number for number, job in enumerate((job for job in waiting if is_dependency_done(job)), 1)}
    free = sum(one.slots for one in there) - len(working)
    turns = [
        Turn(
            number,
            job,
            job.project_id in mine,
            job.project_id == project.pk,
            describe_wait_reason(job, places.get(job.pk, 0), len(there), free),
            starts.get(job.pk),
        )
        for number, job in enumerate(waiting, 1)
    ]
    return Line(queue, turns, [(job, job.project_id in mine) for job in working], there)


def of_queue(queue: str, jobs: Any) -> list[Job]:
    return list(jobs.with_queue().filter(line_of=queue)[:MOST])


def describe_wait_reason(job: Job, place: int, workers: int, free: int) -> str:
    """Return why the job is not running yet; `place` is its position among startable jobs, from 1."""
    if not is_dependency_done(job):
        stands = "" if job.after.state in (State.QUEUED, *AT_WORK) else f", which is {job.after.state}: resume it"
        return f"Waiting for “{job.after}”{stands}"
    if not workers:
        return "No worker serves this queue"
    if job.sent_at is None:
        return "The broker has not accepted it yet; retrying within seconds"
    if place <= free:
        return "About to start"
    ahead = place - 1 - max(0, free)
    return f"{ahead} job{'s' * (ahead != 1)} ahead" if ahead else "Next, when a worker is free"


def explain_wait(turn: Turn, workers: Sequence[Worker]) -> Turn:
    """Add what the team's machines lack, if only they serve the queue and none of them can run the job."""
    if (
        not turn.mine
        or not is_dependency_done(turn.job)
        or not workers
        or any(one.enrolment is None for one in workers)
    ):
        return turn
    missing = {one.enrolment.name: describe_missing_capability(turn.job, one.info) for one in workers if one.enrolment}
    if not all(missing.values()):
        return turn
    said = "; ".join(f"“{name}”: {what}" for name, what in missing.items())
    return replace(turn, why=f"No available worker can run it. {said}", seconds=None)


def estimate_start_times(
    waiting: Sequence[Job], working: Sequence[Job], slots: int, known: Mapping[Any, float | None] | None = None
) -> dict[Any, float]:
    """Estimate the seconds until each startable job starts.

    Durations are those of similar jobs, or as `known`.
    """
    if not slots:
        return {}
    usual = usual_seconds({job.kind for job in (*waiting, *working)})
    left = sorted(seconds for job in working if (seconds := seconds_left(job, usual)) is not None)
    if len(left) < len(working):
        return {}  # the end of a running job is unknown
    free = (left + [0.0] * slots)[: max(slots, len(left))]
    heapify(free)
    found: dict[Any, float] = {}
    for job in waiting:
        if not is_dependency_done(job):
            continue
        found[job.pk] = free[0]
        took = known[job.pk] if known and job.pk in known else seconds_of(job, usual)
        if took is None:
            break
        heapreplace(free, free[0] + took)
    return found


def seconds_left(job: Job, usual: dict[str, float]) -> float | None:
    if job.seconds_left is not None:
        return job.seconds_left
    total = seconds_of(job, usual)
    return None if total is None else max(0.0, total - (job.took or timedelta()).total_seconds())


def seconds_of(job: Job, usual: dict[str, float]) -> float | None:
    """Return the expected duration by kind of job; a run is limited by its time limit."""
    took, minutes = usual.get(job.kind), job.spec.get("minutes")
    if job.trains and isinstance(minutes, int | float):
        return min(took, 60.0 * minutes) if took else 60.0 * minutes
    return took


def usual_seconds(kinds: Collection[str]) -> dict[str, float]:
    """Return the median duration of recently finished jobs by kind."""
    found = {}
    for kind in sorted(kinds):
        done = Job.objects.filter(kind=kind, state=State.DONE, started_at__isnull=False, ended_at__isnull=False)
        times = done.order_by("-ended_at").values_list("started_at", "ended_at")[:LIKE]
        if took := [(end - start).total_seconds() for start, end in times]:
            found[kind] = median(took)
    return found


def list_cancelled_jobs(project: Any, queue: str) -> list[Job]:
    """Return the project's jobs removed from a queue in the last hour before they started, which can be restored."""
    lately = timezone.now() - timedelta(hours=1)
    stopped = Job.objects.filter(project=project, state=State.STOPPED, started_at=None, ended_at__gt=lately)
    return [job for job in stopped.select_related(*RELATED).order_by("-ended_at")[:10] if job.queue == queue]
