"""Asking for a run to be watched: on the queue `web`, so that nothing that is recorded waits for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prove_web.live import message_broker
from prove_web.live.models import Job

WATCH, DELIVER = "prove_web.alerts.watch", "prove_web.alerts.deliver"
SAID = {"step", "held_out", "rollouts", "rewound", "ended"}  # the events that rules are about
SECONDS = 60  # after which one that was asked for and never came is asked for again


def reported(job: Job, events: Iterable[dict[str, Any]]) -> None:
    """Have a run watched that told of something, unless that is asked for already."""
    if job.trains and any(event["kind"] in SAID for event in events):
        message_broker.quietly(lambda: ask(job))


def ask(job: Job) -> None:
    if message_broker.broker().set(waiting(job.pk), 1, nx=True, ex=SECONDS):
        message_broker.publish(WATCH, {"job": str(job.pk)}, "web")


def begun(job: str) -> None:
    """What is told from now on has to be asked for anew."""
    message_broker.quietly(lambda: message_broker.broker().delete(waiting(job)))


def waiting(job: Any) -> str:
    return f"prove:alerts:{job}"
