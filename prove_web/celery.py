"""Celery app of the site: queue `events` has exactly one writer; `web` takes what would delay a page.

Work of minutes, derived datasets and exports, has the queue `files` to itself, so that the reconciler, alerts and
checks never wait behind it.
"""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import worker_process_init

from training_worker.core.broker import celery_url
from training_worker.core.parent_death import die_with_parent
from training_worker.worker import heartbeat, logs

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "prove_web.settings")

from django.conf import settings  # needs the variable

from prove_web.core.logs import facts

RECONCILE_SECONDS = 5
PULSE_SECONDS = 10
ALERT_SECONDS = 15
PURGE_SECONDS = 3600
TASKS = (
    "prove_web.live.tasks",
    "prove_web.environments.tasks",
    "prove_web.operations.tasks",
    "prove_web.trajectories.tasks",
    "prove_web.alerts.tasks",
    "prove_web.experiments.tasks",
    "prove_web.sharing.tasks",
)


def build_pulse_schedule(name: str, queue: str) -> dict[str, Any]:
    """Return a schedule for a message through a queue, which proves that its consumer is alive."""
    return {
        "task": "prove_web.operations.pulse",
        "schedule": PULSE_SECONDS,
        "args": (name,),
        "options": {"queue": queue, "expires": 2 * PULSE_SECONDS},
    }


app = Celery("prove_web", broker=celery_url(settings.REDIS_URL), include=TASKS)
app.conf.update(
    task_serializer="json",
    accept_content=["json"],
    task_ignore_result=True,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    task_default_queue="web",
    task_routes={"prove_web.live.ingest": {"queue": "events"}, "training_worker.*": {"queue": "synthesis"}},
    beat_schedule={
        "reconcile": {
            "task": "prove_web.live.reconcile",
            "schedule": RECONCILE_SECONDS,
            "options": {"expires": 2 * RECONCILE_SECONDS},
        },
        "alerts": {
            "task": "prove_web.alerts.pass",
            "schedule": ALERT_SECONDS,
            "options": {"expires": 2 * ALERT_SECONDS},
        },
        "purge": {
            "task": "prove_web.sharing.purge",
            "schedule": PURGE_SECONDS,
            "options": {"expires": PURGE_SECONDS},
        },
        "pulse of the writer": build_pulse_schedule("writer", "events"),
        "pulse of the web worker": build_pulse_schedule("web-worker", "web"),
    },
)
heartbeat.of_workers(settings.REDIS_URL, only="files")
logs.of_workers(facts)


@worker_process_init.connect
def not_left_behind(**rest: object) -> None:
    die_with_parent()
