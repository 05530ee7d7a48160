"""Job order within a queue. A queue is ordered by place, which is initially the time of the request.

A project's jobs keep their set of places; its priorities only decide which job takes which place. So a team that moves
a job up delays its own other jobs, and nobody else's. Within a project, jobs are ordered by priority, then by request
time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial

from django.db import transaction

from prove_web.accounts.locks import lock_project

from . import message_broker
from .models import Job, State


def sort_by_priority(jobs: Sequence[Job]) -> list[Job]:
    """Return a project's waiting jobs of one queue in priority order."""
    return sorted(jobs, key=lambda job: (-job.priority, job.created_at, str(job.pk)))


def waiting_of(project: int) -> dict[str, list[Job]]:
    """Return a project's waiting jobs by queue, locked until the transaction ends."""
    found = defaultdict(list)
    for job in Job.objects.select_for_update(no_key=True).filter(project=project, state=State.QUEUED).order_by("pk"):
        found[job.queue].append(job)
    return found


@transaction.atomic
def arrange(project: int) -> None:
    """Assign a project's places to its waiting jobs by rank."""
    if not Job.objects.filter(project=project, state=State.QUEUED).exclude(priority=0).exists():
        return  # request order applies, so there is nothing to do
    lock_project(project)
    for queue, jobs in waiting_of(project).items():
        place_by_rank(queue, jobs)


def place_by_rank(queue: str, jobs: Sequence[Job]) -> None:
    places, moved = sorted(job.place for job in jobs), []
    for job, place in zip(sort_by_priority(jobs), places, strict=True):
        if job.place != place:
            job.place = place
            moved.append(job)
    Job.objects.bulk_update(moved, ["place"])
    transaction.on_commit(partial(message_broker.send_elsewhere, queue, moved))


@transaction.atomic
def move(job: Job, to: str) -> int:
    """Move a waiting job `up`, `down`, or to be `first` or `last` of its project in its queue.

    Returns how many of its project's jobs are then ahead of it; -1 if the job is no longer waiting.
    """
    lock_project(job.project_id)
    queue = job.queue
    order = sort_by_priority(waiting_of(job.project_id)[queue])
    at = next((at for at, one in enumerate(order) if one.pk == job.pk), None)
    if at is None:
        return -1
    target = {"up": at - 1, "down": at + 1, "first": 0, "last": len(order) - 1}[to]
    target = min(max(0, target), len(order) - 1)
    order.insert(target, order.pop(at))
    prioritise(order)
    place_by_rank(queue, order)
    return target


def prioritise(order: Sequence[Job]) -> None:
    """Assign the smallest priorities that produce this order, so that repeated moves do not inflate them."""
    for after, job in zip([None, *order[::-1]], order[::-1], strict=False):
        if after is None:
            job.priority = min(job.priority, 0)
        else:
            job.priority = after.priority + (job.created_at >= after.created_at)
    Job.objects.bulk_update(order, ["priority"])
