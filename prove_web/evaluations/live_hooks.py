"""What an evaluation does with the events of its job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.dispatch import receiver

from prove_web.live.hooks import events_stored, stored_elsewhere
from prove_web.live.models import Job

from .recording import record_evaluation

stored_elsewhere.add(("items", "items"))


@receiver(events_stored)
def record_items(job: Job, events: Sequence[dict[str, Any]], **rest: Any) -> None:
    record_evaluation(job, events)
