"""The pulse: a message through each queue of the web side, which shows that clock, broker and taker all work."""

from __future__ import annotations

from typing import Any

from celery.signals import after_task_publish, beat_init

from prove_web.celery import app
from prove_web.live import message_broker
from training_worker import heartbeat

CLOCK = "beat"


@app.task(name="prove_web.operations.pulse")
def pulse(name: str) -> None:
    """Whoever takes this is alive, under this name."""
    message_broker.quietly(lambda: heartbeat.beat(message_broker.broker(), name))


@beat_init.connect
def clock(**rest: Any) -> None:
    """The clock beats with each message it could send."""
    after_task_publish.connect(ticked)


def ticked(**rest: Any) -> None:
    message_broker.quietly(lambda: heartbeat.beat(message_broker.broker(), CLOCK))
