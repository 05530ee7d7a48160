"""Django's part of the logs: what requests and tasks are about, and what is worth a line."""

from __future__ import annotations

import logging
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from training_worker import logs


def facts(record: logging.LogRecord) -> dict[str, Any]:
    """What a record is about. Django names the request itself in what it says once the answer is made."""
    from .context import about, present  # needs settings, which are being read when this module is

    return {**logs.job_at_work(record), **about(getattr(record, "request", None) or present())}


def news(record: logging.LogRecord) -> bool:
    """Whether it is one: that the site is not ready was asked for, and is in the answer."""
    return getattr(record, "status_code", None) != 503


def configuration() -> dict[str, Any]:
    """Django's LOGGING. A traceback of a page is logged, which Django by itself only mails.

    In JSON each request has a line; in text those that fail do.
    """
    try:
        known = logs.configuration(facts)
        json = logs.form() == "json"
    except ValueError as error:
        raise ImproperlyConfigured(str(error)) from None
    ours = {"handlers": [], "propagate": True}
    return {
        **known,
        "filters": {**known["filters"], "news": {"()": "django.utils.log.CallbackFilter", "callback": news}},
        "loggers": {
            "prove_web.requests": {"level": "INFO" if json else "CRITICAL"},
            "prove_web.live.jobs": {"level": "INFO" if json else "WARNING"},
            "django": {**ours, "level": "WARNING"},
            "django.server": {**ours, "level": "INFO"},
            "django.request": {"level": "ERROR", "filters": ["news"]},  # what was not found or allowed is none
            "django.security": {"level": "WARNING" if json else "CRITICAL"},  # anyone can ask for any name
            "axes": {"level": "CRITICAL"},  # its lines have the names and addresses of people
            "uvicorn": {**ours, "level": "WARNING"},
            "uvicorn.error": {"level": "WARNING"},
        },
    }
