"""The workers' Celery app with the queues `synthesis` (CPU) and `training` (GPU). Jobs report results as events."""

from __future__ import annotations

import os
from multiprocessing import get_context

from celery import Celery
from celery.signals import worker_process_init, worker_shutting_down

from ..core.broker import broker_url, celery_url
from ..core.parent_death import die_with_parent
from . import heartbeat, logs

os.umask(0o077)  # files of a worker and its jobs are private to their user
app = Celery(
    "training_worker",
    broker=celery_url(broker_url()),
    include=["training_worker.jobs.tasks"],
    fixups=(),  # otherwise Celery loads Django where DJANGO_SETTINGS_MODULE is set, as it is under `manage.py`
)
app.conf.update(
    task_serializer="json",
    accept_content=["json"],
    task_ignore_result=True,
    task_acks_late=False,  # a run is taken once; the web side detects lost runs
    worker_prefetch_multiplier=1,
    worker_disable_prefetch=True,  # a busy worker leaves the next message to an idle one
    worker_concurrency=1,
    worker_hijack_root_logger=False,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_transport_options={"socket_keepalive": True},
    task_default_queue="synthesis",
)

heartbeat.of_workers(broker_url())
logs.of_workers()

closing = get_context("fork").Event()  # shared with the pool's process, which is forked from this one


@worker_process_init.connect  # type: ignore[untyped-decorator]
def not_left_behind(**rest: object) -> None:
    die_with_parent()


@worker_shutting_down.connect  # type: ignore[untyped-decorator]
def wind_up(**rest: object) -> None:
    """Ask a running job to stop after its step; it resumes when there is a worker again."""
    closing.set()
