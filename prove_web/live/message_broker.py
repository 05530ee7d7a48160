"""What the web side says over the broker: the message that starts an attempt, and the hash a worker reads."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

import redis
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings
from django.db import transaction
from kombu.exceptions import OperationalError
from redis.backoff import NoBackoff
from redis.retry import Retry

from prove_web.celery import app
from training_worker import job_queue
from training_worker.jobs.delivery import CLAIMED, claim_key

from .models import FILES, Job

log = logging.getLogger(__name__)
RUN_JOB, CURATE_JOB = "training_worker.run_job", "prove_web.trajectories.curate"
UNREACHABLE = (redis.RedisError, OperationalError, OSError)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PATIENCE = 2  # seconds that a page waits for the broker


@cache
def broker() -> Any:
    waits = {"socket_timeout": PATIENCE, "socket_connect_timeout": PATIENCE, "retry": Retry(NoBackoff(), 1)}
    return redis.from_url(settings.REDIS_URL, decode_responses=True, **waits)


def tell_worker(job: Job) -> bool:
    """Write which attempt is the current one, what of it is stored, and whether it is to stop.

    No attempt at a job that has ended is the current one, so a worker that is at one lets go.
    """
    state = {"attempt": job.attempt + job.ended, "seq": job.seq, "stop": job.stop}
    return quietly(lambda: broker().hset(f"prove:job:{job.id}", mapping=state))


def send(job: Job) -> bool:
    """Have the job wait at its place, and send a message that lets a worker start one; whether the broker took both."""
    queue, order = job.queue, {"job": str(job.id), "attempt": job.attempt}
    if queue != FILES:
        order |= {"kind": job.kind, "spec": job.spec}
    task = CURATE_JOB if queue == FILES else RUN_JOB

    def say() -> None:
        job_queue.put(broker(), queue, score(job.place), order)
        publish(task, order, queue)

    return tell_worker(job) and quietly(say)


def score(place: datetime) -> int:
    """A place as the broker sorts by it: microseconds, which it keeps exactly for some two centuries."""
    return (place - EPOCH) // timedelta(microseconds=1)


def send_elsewhere(queue: str, jobs: Sequence[Job]) -> None:
    """Jobs of a queue that were given other places; one that a worker has taken stays taken."""
    moved = {job_queue.member(job.id, job.attempt): score(job.place) for job in jobs}
    quietly(lambda: job_queue.move(broker(), queue, moved))


def claim(job: Job, who: str) -> bool:
    """Claim the job's attempt, as workers do (see jobs/delivery.py), for one that has no broker. Raises RedisError."""
    return bool(broker().set(claim_key(str(job.id), job.attempt), who, nx=True, ex=CLAIMED))


def take_back(queue: str, job: UUID, attempt: int) -> None:
    """An attempt that nobody has begun is not to be begun."""
    quietly(lambda: job_queue.drop(broker(), queue, job_queue.member(job, attempt)))


def later(task: str, queue: str = "web", **arguments: Any) -> bool:
    """Have a task of the web side done on one of its queues."""
    return quietly(lambda: publish(task, arguments, queue))


def publish(task: str, arguments: dict[str, Any], queue: str) -> None:
    """Ask for the broker before Celery does, which would keep a page waiting for one that is not there."""
    broker().ping()
    app.send_task(task, kwargs=arguments, queue=queue, retry=False)


def hint(job: Job) -> None:
    """Tell the sockets that there is something new to read."""
    push({"job": str(job.id), "project": job.project_id})


def hint_session(session: int) -> None:
    """The same of a live session."""
    push({"session": session})


def hint_trajectory(trajectory: int) -> None:
    """The same of what is said of a trajectory, once it is committed."""
    transaction.on_commit(lambda: push({"trajectory": trajectory}))


def push(message: dict[str, Any]) -> None:
    layer = get_channel_layer()
    quietly(lambda: async_to_sync(layer.group_send)("live", {"type": "hint", **message}))


def quietly(work: Any) -> bool:
    """Do what needs the broker. Without one nothing is lost: the reconciler says it again."""
    try:
        work()
    except UNREACHABLE as error:
        log.warning("The broker does not answer: %s", error)
        return False
    return True
