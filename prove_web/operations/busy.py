"""A database that is locked for longer than a request waits: 503, and when to try again."""

from __future__ import annotations

from django.db import OperationalError

RETRY_AFTER = 5  # seconds
SENTENCE = f"The database is busy with other work. Nothing was changed. Try again in {RETRY_AFTER} seconds."
STATES = {"40P01", "55P03"}  # of PostgreSQL: a deadlock was ended, a lock was not to be had


def is_busy(error: BaseException | None) -> bool:
    """Return whether the error says that others held the database's lock for too long."""
    if not isinstance(error, OperationalError):
        return False
    return getattr(error.__cause__, "sqlstate", None) in STATES or "locked" in str(error)
