"""The database as one file: SQLite's own online copy, or what pg_dump makes; both of one moment, while it is in use."""

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

LIBPQ = {"sslmode", "sslrootcert", "sslcert", "sslkey"}  # options that DATABASE_URL may carry


def sqlite_file() -> Path | None:
    """Where the SQLite database is; None for another kind."""
    return Path(connection.settings_dict["NAME"]).resolve() if connection.vendor == "sqlite" else None


def migrations() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = sorted(MigrationRecorder(connection).applied_migrations())
    return found


def snapshot(target: Path) -> None:
    """Write the database as it is now into a new file. Raises BackupFailed."""
    file = sqlite_file()
    if file is None:
        run("pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--file={target}", named())
        return
    if not file.exists():
        raise BackupFailed(f"{file} does not exist: start the site once, or check PROVE_DATA and DATABASE_URL")
    uri = f"{file.as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=20)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)  # in one step, under one read transaction: writers go on


def load(source: Path) -> None:
    """Make the database that the settings name what this file says. It must be empty. Raises BackupFailed."""
    file = sqlite_file()
    if file is None:
        run("pg_restore", "--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction", named(), source)
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
    """Raises BackupFailed when there is something in the database that a restore would write over."""
    file = sqlite_file()
    if file is not None and file.exists():
        raise BackupFailed(f"{file} already exists: restore into an empty PROVE_DATA, or move the file away")
    if file is None and connection.introspection.table_names():
        raise BackupFailed("the database at DATABASE_URL has tables: restore into an empty database")


def named() -> str:
    """The option that names the PostgreSQL database; its password goes by the environment alone."""
    return f"--dbname={connection.settings_dict['NAME']}"


def run(program: str, *arguments: object) -> None:
    """One of PostgreSQL's own programs. Raises BackupFailed with its last words."""
    if not (found := shutil.which(program)):
        raise BackupFailed(f"{program} not found: install PostgreSQL's client programs (Debian: postgresql-client)")
    command = [found, *map(str, arguments)]
    done = subprocess.run(command, env={**os.environ, **account(connection.settings_dict)}, capture_output=True)
    if done.returncode:
        words = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no error message"]
        raise BackupFailed(f"{program} failed: {words[-1]}")


def account(settings: dict[str, Any]) -> dict[str, str]:
    """What libpq reads from the environment, where no other user of the machine sees it."""
    names = {"PGHOST": "HOST", "PGPORT": "PORT", "PGUSER": "USER", "PGPASSWORD": "PASSWORD"}
    given = {name: str(settings[key]) for name, key in names.items() if settings.get(key)}
    options = {f"PG{name.upper()}": str(value) for name, value in settings.get("OPTIONS", {}).items() if name in LIBPQ}
    return given | options
