"""Whose turn it is. A queue goes by places, and a job's place is when it was asked for.

A project's jobs hold the places that they got; its priorities only say which of them takes which. So a team that moves
a job up lets another of its own wait for it, and nobody else's. Within a project that is the order of priority, and
among equals that of asking.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial

from django.db import transaction

from prove_web.accounts.locks import hold

from . import message_broker
from .models import Job, State


def ranked(jobs: Sequence[Job]) -> list[Job]:
    """A project's waiting jobs of one queue, in the order of their turns."""
    return sorted(jobs, key=lambda job: (-job.priority, job.created_at, str(job.pk)))


def waiting_of(project: int) -> dict[str, list[Job]]:
    """A project's waiting jobs by queue, held until the transaction ends."""
    found = defaultdict(list)
    for job in Job.objects.select_for_update(no_key=True).filter(project=project, state=State.QUEUED).order_by("pk"):
        found[job.queue].append(job)
    return found


@transaction.atomic
def arrange(project: int) -> None:
    """Give each waiting job of a project the place that its rank asks for."""
    if not Job.objects.filter(project=project, state=State.QUEUED).exclude(priority=0).exists():
        return  # then who came first goes first, and there is nothing to do
    hold(project)
    for queue, jobs in waiting_of(project).items():
        place_by_rank(queue, jobs)


def place_by_rank(queue: str, jobs: Sequence[Job]) -> None:
    places, moved = sorted(job.place for job in jobs), []
    for job, place in zip(ranked(jobs), places, strict=True):
        if job.place != place:
            job.place = place
            moved.append(job)
    Job.objects.bulk_update(moved, ["place"])
    transaction.on_commit(partial(message_broker.send_elsewhere, queue, moved))


@transaction.atomic
def move(job: Job, to: str) -> int:
    """Move a waiting job `up`, `down`, or to be the `first` or `last` of its project in its queue.

    How many of its project's jobs then go before it; -1 for a job that waits no more.
    """
    hold(job.project_id)
    queue = job.queue
    order = ranked(waiting_of(job.project_id)[queue])
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
    """The smallest priorities that make this the order; they stay small however often one moves."""
    for after, job in zip([None, *order[::-1]], order[::-1], strict=False):
        if after is None:
            job.priority = min(job.priority, 0)
        else:
            job.priority = after.priority + (job.created_at >= after.created_at)
    Job.objects.bulk_update(order, ["priority"])
