"""Messages from the web side to the broker: the message that starts an attempt, and the hash that a worker reads."""

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
from training_worker.jobs.delivery import CLAIMED, claim_key
from training_worker.worker import job_queue

from .models import FILES, Job

log = logging.getLogger(__name__)
RUN_JOB, CURATE_JOB = "training_worker.run_job", "prove_web.trajectories.curate"
UNREACHABLE = (redis.RedisError, OperationalError, OSError)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PATIENCE = 2  # timeout in seconds of a page for the broker


@cache
def broker() -> Any:
    waits = {"socket_timeout": PATIENCE, "socket_connect_timeout": PATIENCE, "retry": Retry(NoBackoff(), 1)}
    return redis.from_url(settings.REDIS_URL, decode_responses=True, **waits)


def tell_worker(job: Job) -> bool:
    """Publish the current attempt, its stored events and its stop request for the worker.

    After a job has ended no attempt is current, so a worker still running it gives up.
    """
    state = {"attempt": job.attempt + job.ended, "seq": job.seq, "stop": job.stop}
    return try_broker_call(lambda: broker().hset(f"prove:job:{job.id}", mapping=state))


def send(job: Job) -> bool:
    """Queue the job at its place and send a message that lets a worker start a job; return whether both succeeded."""
    queue, order = job.queue, {"job": str(job.id), "attempt": job.attempt}
    if queue != FILES:
        order |= {"kind": job.kind, "spec": job.spec}
    task = CURATE_JOB if queue == FILES else RUN_JOB

    def enqueue_and_publish() -> None:
        job_queue.put(broker(), queue, score(job.place), order)
        publish(task, order, queue)

    return tell_worker(job) and try_broker_call(enqueue_and_publish)


def score(place: datetime) -> int:
    """Return a place as the broker's sort score in microseconds, which is exact for about two centuries."""
    return (place - EPOCH) // timedelta(microseconds=1)


def send_elsewhere(queue: str, jobs: Sequence[Job]) -> None:
    """Update the places of jobs in a queue; jobs already taken by a worker are not affected."""
    moved = {job_queue.member(job.id, job.attempt): score(job.place) for job in jobs}
    try_broker_call(lambda: job_queue.move(broker(), queue, moved))


def claim(job: Job, who: str) -> bool:
    """Claim the job's attempt as workers do (see jobs/delivery.py), on behalf of a worker without a broker.

    Raises RedisError.
    """
    return bool(broker().set(claim_key(str(job.id), job.attempt), who, nx=True, ex=CLAIMED))


def take_back(queue: str, job: UUID, attempt: int) -> None:
    """Remove an attempt from its queue unless it has started."""
    try_broker_call(lambda: job_queue.drop(broker(), queue, job_queue.member(job, attempt)))


def enqueue_task(task: str, queue: str = "web", **arguments: Any) -> bool:
    """Queue a task of the web side."""
    return try_broker_call(lambda: publish(task, arguments, queue))


def publish(task: str, arguments: dict[str, Any], queue: str) -> None:
    """Publish a task. The ping detects an unavailable broker, on which Celery would block the page."""
    broker().ping()
    app.send_task(task, kwargs=arguments, queue=queue, retry=False)


def hint(job: Job) -> None:
    """Tell the sockets that a job has new data."""
    push({"job": str(job.id), "project": job.project_id})


def hint_session(session: int) -> None:
    """Tell the sockets that a live session changed."""
    push({"session": session})


def hint_trajectory(trajectory: int) -> None:
    """Tell the sockets, on commit, that the comments of a trajectory changed."""
    transaction.on_commit(lambda: push({"trajectory": trajectory}))


def push(message: dict[str, Any]) -> None:
    layer = get_channel_layer()
    try_broker_call(lambda: async_to_sync(layer.group_send)("live", {"type": "hint", **message}))


def try_broker_call(work: Any) -> bool:
    """Run work that needs the broker; after a failure the reconciler repeats the message."""
    try:
        work()
    except UNREACHABLE as error:
        log.warning("The broker does not answer: %s", error)
        return False
    return True
