"""Heartbeats by messages through each queue of the web side, which show that clock, broker and workers run."""

from __future__ import annotations

from typing import Any

from celery.signals import after_task_publish, beat_init

from prove_web.celery import app
from prove_web.live import message_broker
from training_worker.worker import heartbeat

CLOCK = "beat"


@app.task(name="prove_web.operations.pulse")
def pulse(name: str) -> None:
    """Record a heartbeat under this name."""
    message_broker.try_broker_call(lambda: heartbeat.beat(message_broker.broker(), name))


@beat_init.connect
def clock(**rest: Any) -> None:
    """Record a heartbeat of the clock with each message that it sends."""
    after_task_publish.connect(record_clock_heartbeat)


def record_clock_heartbeat(**rest: Any) -> None:
    message_broker.try_broker_call(lambda: heartbeat.beat(message_broker.broker(), CLOCK))
