"""Which workers take no more jobs: kept in the database, and said to the broker, where the site's own workers look.

A machine that joined asks the site itself. What a broker lost it is told again with every pass of the reconciler.
"""

from __future__ import annotations

from prove_web.live import message_broker
from training_worker import heartbeat

from .models import Drained, Enrolment


def drain(worker: str, enrolment: Enrolment | None = None) -> bool:
    """Have a worker take no more; whether it did so far."""
    _, new = Drained.objects.get_or_create(worker=worker, defaults={"enrolment": enrolment})
    message_broker.quietly(remind)
    return new


def take_again(worker: str) -> bool:
    """Have a worker take jobs again; whether it took none so far."""
    ended, _ = Drained.objects.filter(worker=worker).delete()
    message_broker.quietly(remind)
    return bool(ended)


def draining() -> set[str]:
    """The names of those that take no more."""
    return set(Drained.objects.values_list("worker", flat=True))


def drains(worker: str) -> bool:
    return Drained.objects.filter(worker=worker).exists()


def remind() -> None:
    """Say to the broker who takes no more. Raises messages.UNREACHABLE."""
    heartbeat.say_draining(message_broker.broker(), draining())
