"""The broker's address, in the form that each library needs."""

from __future__ import annotations

import os
from urllib.parse import parse_qs, urlsplit

UNSET = "REDIS_URL is not set. Start the workers with `manage.py serve`, or set it to the broker that the site uses."


def broker_url() -> str:
    """Return REDIS_URL. Raises a RuntimeError that says what to do if it is not set."""
    if url := os.environ.get("REDIS_URL"):
        return url
    raise RuntimeError(UNSET)


def celery_url(url: str) -> str:
    """Return Celery's form of an address that redis-py understands: only unix sockets differ."""
    parts = urlsplit(url)
    if parts.scheme != "unix":
        return url
    number = parse_qs(parts.query).get("db", ["0"])[0]
    return f"redis+socket://{parts.path}?virtual_host={number}"
