"""Detection of database lock timeouts, answered with 503 and Retry-After."""

from __future__ import annotations

from django.db import OperationalError

RETRY_AFTER = 5  # seconds
SENTENCE = f"The database is busy with other work. Nothing was changed. Try again in {RETRY_AFTER} seconds."
STATES = {"40P01", "55P03"}  # PostgreSQL's deadlock detected, lock not available


def is_busy(error: BaseException | None) -> bool:
    """Return whether the error says that waiting for a database lock timed out."""
    if not isinstance(error, OperationalError):
        return False
    return getattr(error.__cause__, "sqlstate", None) in STATES or "locked" in str(error)
