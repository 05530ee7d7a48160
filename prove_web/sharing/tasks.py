"""Hourly task that purges the trash and the incomplete uploads of enrolled machines."""

from __future__ import annotations

from contextlib import suppress

import django
from django.apps import apps
from redis.exceptions import LockError

if not apps.ready:  # a Celery process; in a web process it is set up already
    django.setup()

from django.db import close_old_connections

from prove_web.celery import app
from prove_web.live import message_broker
from prove_web.workers.quota import tidy_all

from .trash_purge import purge as purge_all

LOCK, LOCK_SECONDS = "prove:purge", 6 * 3600


@app.task(name="prove_web.sharing.purge")
def purge() -> None:
    """Run one pass, never two at the same time."""
    close_old_connections()
    lock = message_broker.broker().lock(LOCK, timeout=LOCK_SECONDS, blocking=False)
    if lock.acquire():
        try:
            purge_all()
            tidy_all()
        finally:
            with suppress(LockError):  # a pass that took longer than the lock lasts
                lock.release()
