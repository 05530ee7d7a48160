"""What a training run does with the events of its job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.dispatch import receiver

from prove_web.live.hooks import events_stored, metric_kinds, stored_elsewhere
from prove_web.live.models import Job

from .recording import TABLES, record_curves

metric_kinds |= {*TABLES}
stored_elsewhere.add(("rollouts", "groups"))


@receiver(events_stored)
def record_metrics(job: Job, events: Sequence[dict[str, Any]], **rest: Any) -> None:
    record_curves(job, events)
