"""Evaluation of alert rules as a run reports events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.dispatch import receiver

from prove_web.live.hooks import events_committed
from prove_web.live.models import Job

from .dispatch import schedule_evaluation


@receiver(events_committed)
def evaluate_rules(job: Job, events: Sequence[dict[str, Any]], **rest: Any) -> None:
    schedule_evaluation(job, events)
