"""Draining workers, stored in the database and published to the broker for the site's own workers.

Enrolled machines ask the site instead. Each reconciliation pass publishes the list again, in case the broker lost it.
"""

from __future__ import annotations

from prove_web.live import message_broker
from training_worker.worker import heartbeat

from .models import Drained, Enrolment


def drain(worker: str, enrolment: Enrolment | None = None) -> bool:
    """Drain a worker; return whether it was not draining before."""
    _, new = Drained.objects.get_or_create(worker=worker, defaults={"enrolment": enrolment})
    message_broker.try_broker_call(remind)
    return new


def take_again(worker: str) -> bool:
    """Resume a worker; return whether it was draining."""
    ended, _ = Drained.objects.filter(worker=worker).delete()
    message_broker.try_broker_call(remind)
    return bool(ended)


def list_draining_workers() -> set[str]:
    """Return the names of the draining workers."""
    return set(Drained.objects.values_list("worker", flat=True))


def drains(worker: str) -> bool:
    return Drained.objects.filter(worker=worker).exists()


def remind() -> None:
    """Publish the draining workers to the broker. Raises message_broker.UNREACHABLE."""
    heartbeat.say_draining(message_broker.broker(), list_draining_workers())
