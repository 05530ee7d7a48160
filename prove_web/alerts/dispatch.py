"""Scheduling of rule evaluation on the queue `web`, so that recording events never waits for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prove_web.live import message_broker
from prove_web.live.models import Job

WATCH, DELIVER = "prove_web.alerts.watch", "prove_web.alerts.deliver"
SAID = {"step", "held_out", "rollouts", "rewound", "ended"}  # event kinds that rules depend on
SECONDS = 60  # lifetime of a pending request, after which a lost one may be sent again


def schedule_evaluation(job: Job, events: Iterable[dict[str, Any]]) -> None:
    """Schedule the evaluation of a run that reported relevant events, unless one is pending."""
    if job.trains and any(event["kind"] in SAID for event in events):
        message_broker.try_broker_call(lambda: request_evaluation(job))


def request_evaluation(job: Job) -> None:
    if message_broker.broker().set(get_pending_key(job.pk), 1, nx=True, ex=SECONDS):
        message_broker.publish(WATCH, {"job": str(job.pk)}, "web")


def clear_pending_mark(job: str) -> None:
    """Clear the pending mark, so that later events schedule a new evaluation."""
    message_broker.try_broker_call(lambda: message_broker.broker().delete(get_pending_key(job)))


def get_pending_key(job: Any) -> str:
    return f"prove:alerts:{job}"
