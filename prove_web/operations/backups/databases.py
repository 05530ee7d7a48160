"""Consistent database copies while the site is in use, by SQLite's online backup or pg_dump."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from .archive import BackupFailed

LIBPQ = {"sslmode", "sslrootcert", "sslcert", "sslkey"}  # supported options of DATABASE_URL


def sqlite_file() -> Path | None:
    """Return the path of the SQLite database; None for other databases."""
    return Path(connection.settings_dict["NAME"]).resolve() if connection.vendor == "sqlite" else None


def migrations() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = sorted(MigrationRecorder(connection).applied_migrations())
    return found


def snapshot(target: Path) -> None:
    """Write the current database to a new file. Raises BackupFailed."""
    file = sqlite_file()
    if file is None:
        run("pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--file={target}", get_database_option())
        return
    if not file.exists():
        raise BackupFailed(f"{file} does not exist: start the site once, or check PROVE_DATA and DATABASE_URL")
    uri = f"{file.as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=20)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)  # a single step under one read transaction, which does not block writers


def load(source: Path) -> None:
    """Load the file into the configured database, which must be empty. Raises BackupFailed."""
    file = sqlite_file()
    if file is None:
        run(
            "pg_restore",
            "--no-owner",
            "--no-privileges",
            "--exit-on-error",
            "--single-transaction",
            get_database_option(),
            source,
        )
        return
    with closing(sqlite3.connect(source)) as copy:
        try:
            (found,) = copy.execute("PRAGMA quick_check").fetchone()
        except sqlite3.DatabaseError as error:
            found = str(error)
    if found != "ok":
        raise BackupFailed(f"the database in the backup is damaged ({found}): use another backup")
    file.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(source, file)


def refuse_full() -> None:
    """Raise BackupFailed if a restore would overwrite data in the database."""
    file = sqlite_file()
    if file is not None and file.exists():
        raise BackupFailed(f"{file} already exists: restore into an empty PROVE_DATA, or move the file away")
    if file is None and connection.introspection.table_names():
        raise BackupFailed("the database at DATABASE_URL has tables: restore into an empty database")


def get_database_option() -> str:
    """Return the option with the name of the PostgreSQL database; the password is passed in the environment only."""
    return f"--dbname={connection.settings_dict['NAME']}"


def run(program: str, *arguments: object) -> None:
    """Run a PostgreSQL program. Raises BackupFailed with the last line of its error output."""
    if not (found := shutil.which(program)):
        raise BackupFailed(f"{program} not found: install PostgreSQL's client programs (Debian: postgresql-client)")
    command = [found, *map(str, arguments)]
    done = subprocess.run(command, env={**os.environ, **account(connection.settings_dict)}, capture_output=True)
    if done.returncode:
        words = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no error message"]
        raise BackupFailed(f"{program} failed: {words[-1]}")


def account(settings: dict[str, Any]) -> dict[str, str]:
    """Return the environment variables for libpq, which other users of the machine cannot read."""
    names = {"PGHOST": "HOST", "PGPORT": "PORT", "PGUSER": "USER", "PGPASSWORD": "PASSWORD"}
    given = {name: str(settings[key]) for name, key in names.items() if settings.get(key)}
    options = {f"PG{name.upper()}": str(value) for name, value in settings.get("OPTIONS", {}).items() if name in LIBPQ}
    return given | options
