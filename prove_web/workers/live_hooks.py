"""Draining workers, published again on each reconciliation pass."""

from __future__ import annotations

from typing import Any

from django.dispatch import receiver

from prove_web.live import message_broker
from prove_web.live.hooks import reconciled

from .worker_drain import remind


@receiver(reconciled)
def publish_draining_workers(**rest: Any) -> None:
    message_broker.try_broker_call(remind)
