"""Readiness checks of the site, each with the problem and its remedy.

The results contain no address, account or path, because anyone who reaches the site may read them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from prove_web.live import message_broker
from prove_web.supervisor.checks import LEAST_FREE_GB
from training_worker.worker import heartbeat

MOST_SILENT = 30.0  # seconds; three heartbeats
PROGRAMS = ("beat", "web-worker", "writer")  # without one of these, pages show outdated data


@dataclass(frozen=True)
class Check:
    """One requirement of the site. `why` describes its state, whether it is met or not."""

    name: str
    ok: bool
    why: str


class HealthCheckError(Exception):
    """Error for a failed check: what is wrong, and what to do."""


def checks() -> list[Check]:
    """Run all readiness checks."""
    found = [looked_at(name, look) for name, look in LOOKS.items()]
    return found + check_heartbeats()


def looked_at(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name, True, look())
    except HealthCheckError as wrong:
        return Check(name, False, str(wrong))


def database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        raise HealthCheckError(
            f"The {connection.display_name} database does not answer: is it up? Check DATABASE_URL."
        ) from None
    return f"{connection.display_name} answers."


@cache
def known_migrations() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationLoader(None, ignore_no_migrations=True).disk_migrations)


def migrations() -> str:
    try:
        applied = set(MigrationRecorder(connection).applied_migrations())
    except DatabaseError:
        raise HealthCheckError("Unknown, because the database does not answer.") from None
    if missing := len(known_migrations() - applied):
        raise HealthCheckError(
            f"{missing} of {len(known_migrations())} migrations are not applied: run `manage.py migrate`."
        )
    return f"All {len(known_migrations())} migrations are applied."


def broker() -> str:
    try:
        message_broker.broker().ping()
    except message_broker.UNREACHABLE:
        raise HealthCheckError("The broker does not answer: is it up? Check REDIS_URL.") from None
    return "The broker answers."


def disk() -> str:
    free_gb = free_bytes() / 1e9
    if free_gb < LEAST_FREE_GB:
        raise HealthCheckError(f"{free_gb:.1f} GB free on the data disk, needs {LEAST_FREE_GB} GB: make room.")
    return f"{free_gb:.1f} GB free on the data disk."


def free_bytes() -> int:
    """Return the free bytes of the data folder's disk. Raises HealthCheckError if there is no data folder."""
    try:
        return shutil.disk_usage(settings.PROVE_DATA).free
    except OSError as error:
        raise HealthCheckError(f"The data folder cannot be read ({error.strerror}): check PROVE_DATA.") from None


def check_heartbeats() -> list[Check]:
    """Check that each essential program has a recent heartbeat."""
    try:
        ages = heartbeat.ages(message_broker.broker())
    except message_broker.UNREACHABLE:
        return [Check(name, False, "Unknown, because the broker does not answer.") for name in PROGRAMS]
    return [alive(name, ages.get(name)) for name in PROGRAMS]


def alive(name: str, age: float | None) -> Check:
    if age is None:
        return Check(name, False, f"No heartbeat for a day or ever: start it with `manage.py program {name}`.")
    said = f"Last heartbeat {age:.0f} s ago"
    if age > MOST_SILENT:
        return Check(name, False, f"{said}: it has stopped or is overloaded; see its log.")
    return Check(name, True, f"{said}.")


LOOKS = {"database": database, "migrations": migrations, "broker": broker, "disk": disk}
