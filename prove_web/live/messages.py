"""What the web side says over the broker: the message that starts an attempt, and the hash a worker reads."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

import redis
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings
from django.db import transaction
from kombu.exceptions import OperationalError
from redis.backoff import NoBackoff
from redis.retry import Retry

from prove_web.celery import app

from .models import WEB, Job

log = logging.getLogger(__name__)
RUN_JOB, CURATE_JOB = "training_worker.run_job", "prove_web.trajectories.curate"
UNREACHABLE = (redis.RedisError, OperationalError, OSError)
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
    """Send the message that starts the job's attempt; whether the broker took it."""
    message: dict[str, Any] = {"job": str(job.id), "attempt": job.attempt}
    if job.queue == WEB:
        return tell_worker(job) and later(CURATE_JOB, **message)
    message |= {"kind": job.kind, "spec": job.spec}
    return tell_worker(job) and quietly(lambda: publish(RUN_JOB, message, job.queue))


def later(task: str, **arguments: Any) -> bool:
    """Have a task of the web side done on queue `web`."""
    return quietly(lambda: publish(task, arguments, "web"))


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
