"""Django's part of the logging configuration: request and task context, and log levels."""

from __future__ import annotations

import logging
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from training_worker.worker import logs


def facts(record: logging.LogRecord) -> dict[str, Any]:
    """Return the context of a record. Django attaches the request to records logged after the response."""
    from .request_context import get_request_log_fields, present  # needs settings, which import this module

    return {**logs.job_at_work(record), **get_request_log_fields(getattr(record, "request", None) or present())}


def is_worth_logging(record: logging.LogRecord) -> bool:
    """Return whether the record is worth logging; a not-ready response is not, because its body says why."""
    return getattr(record, "status_code", None) != 503


def configuration() -> dict[str, Any]:
    """Return Django's LOGGING. Tracebacks of pages are logged, which Django by default only mails.

    In JSON every request is logged; in text only failed ones.
    """
    try:
        known = logs.configuration(facts)
        json = logs.form() == "json"
    except ValueError as error:
        raise ImproperlyConfigured(str(error)) from None
    ours = {"handlers": [], "propagate": True}
    return {
        **known,
        "filters": {
            **known["filters"],
            "news": {"()": "django.utils.log.CallbackFilter", "callback": is_worth_logging},
        },
        "loggers": {
            "prove_web.requests": {"level": "INFO" if json else "CRITICAL"},
            "prove_web.live.jobs": {"level": "INFO" if json else "WARNING"},
            "django": {**ours, "level": "WARNING"},
            "django.server": {**ours, "level": "INFO"},
            "django.request": {"level": "ERROR", "filters": ["news"]},  # 404 and 403 are not worth a line
            "django.security": {"level": "WARNING" if json else "CRITICAL"},  # anyone can send any host name
            "axes": {"level": "CRITICAL"},  # its lines contain user names and addresses
            "uvicorn": {**ours, "level": "WARNING"},
            "uvicorn.error": {"level": "WARNING"},
        },
    }
