"""What the web side says over the broker: the message that starts an attempt, and the hash a worker reads."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

import redis
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings
from kombu.exceptions import OperationalError

from prove_web.celery import app

from .models import Job

log = logging.getLogger(__name__)
RUN_JOB = "training_worker.run_job"
UNREACHABLE = (redis.RedisError, OperationalError, OSError)


@cache
def broker() -> Any:
    return redis.from_url(settings.REDIS_URL, decode_responses=True)


def tell_worker(job: Job) -> None:
    """Write which attempt is the current one, what of it is stored, and whether it is to stop."""
    state = {"attempt": job.attempt, "seq": job.seq, "stop": job.stop}
    quietly(lambda: broker().hset(f"prove:job:{job.id}", mapping=state))


def send(job: Job) -> bool:
    """Send the message that starts the job's attempt; whether the broker took it."""
    message = {"job": str(job.id), "attempt": job.attempt, "kind": job.kind, "spec": job.spec}
    tell_worker(job)
    return quietly(lambda: app.send_task(RUN_JOB, kwargs=message, queue=job.queue, retry=False))


def later(task: str, **arguments: Any) -> bool:
    """Have a task of the web side done on queue `web`."""
    return quietly(lambda: app.send_task(task, kwargs=arguments, queue="web", retry=False))


def hint(job: Job) -> None:
    """Tell the sockets that there is something new to read."""
    layer = get_channel_layer()

    def push() -> None:
        message = {"type": "hint", "job": str(job.id), "project": job.project_id}
        async_to_sync(layer.group_send)("live", message)

    quietly(push)


def quietly(work: Any) -> bool:
    """Do what needs the broker. Without one nothing is lost: the reconciler says it again."""
    try:
        work()
    except UNREACHABLE as error:
        log.warning("The broker does not answer: %s", error)
        return False
    return True
