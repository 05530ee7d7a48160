"""Logs: lines of text, or with PROVE_LOG=json one JSON object per line with its context.

Objects have timestamp, level, logger and message, exc_info for an error, and those of request_id, user, view, project
and job that are known. Logs never contain what tools, models and people say.
"""

from __future__ import annotations

import logging
import logging.config
import os
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from celery.signals import setup_logging, task_postrun, task_prerun
from pythonjsonlogger.json import JsonFormatter

JOB: ContextVar[str | None] = ContextVar("job", default=None)
SETTING, FORMS = "PROVE_LOG", ("text", "json")
FIELDS = ("timestamp", "level", "logger", "message", "request_id", "user", "view", "project", "job")
MORE = ("method", "status", "ms", "exc_info", "stack_info")
ATTEMPTS = "training_worker.jobs.tasks"  # logs the end of each attempt
Facts = Callable[[logging.LogRecord], dict[str, Any]]


def form() -> str:
    """Return the log format that PROVE_LOG asks for. Raises ValueError for an unknown one."""
    wanted = os.environ.get(SETTING) or "text"
    if wanted not in FORMS:
        raise ValueError(f"{SETTING}={wanted!r} is not one of {', '.join(FORMS)}")
    return wanted


def job_at_work(record: logging.LogRecord) -> dict[str, Any]:
    job = JOB.get()
    return {"job": job} if job else {}


class ContextFilter(logging.Filter):
    """A filter that adds the context to each record."""

    def __init__(self, facts: Facts) -> None:
        super().__init__()
        self.facts = facts

    def filter(self, record: logging.LogRecord) -> bool:
        fields = self.facts(record)
        for name, value in fields.items():
            record.__dict__.setdefault(name, value)
        record.about = f" [request {fields['request_id']}]" if "request_id" in fields else ""
        return True


class Json(JsonFormatter):
    """A formatter for one object per line with known fields only.

    Other attributes that a library sets on a record, such as a request, are left out.
    """

    def __init__(self) -> None:
        names = {"levelname": "level", "name": "logger"}
        super().__init__("%(levelname)s%(name)s%(message)s", timestamp=True, rename_fields=names)

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        return {name: log_data[name] for name in (*FIELDS, *MORE) if log_data.get(name) is not None}


def configuration(facts: Facts = job_at_work) -> dict[str, Any]:
    """Return the argument of `logging.config.dictConfig` for the configured format."""
    line = {"()": Json} if form() == "json" else {"format": "%(levelname)s %(message)s%(about)s"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"about": {"()": ContextFilter, "facts": facts}},
        "formatters": {"line": line},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["about"]}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {ATTEMPTS: {"level": "INFO" if form() == "json" else "WARNING"}},
    }


def of_workers(facts: Facts = job_at_work) -> None:
    """Make log records of this process's Celery programs name their job, in JSON if that is configured."""
    task_prerun.connect(begin_job, weak=False)
    task_postrun.connect(end_job, weak=False)
    if form() == "json":  # otherwise Celery configures its logs, in the format of its command line

        @setup_logging.connect(weak=False)  # type: ignore[untyped-decorator]
        def set_up(**rest: object) -> None:
            logging.config.dictConfig(configuration(facts))


def begin_job(kwargs: dict[str, Any], **rest: object) -> None:
    JOB.set(str(kwargs["job"]) if "job" in kwargs else None)


def end_job(**rest: object) -> None:
    JOB.set(None)
