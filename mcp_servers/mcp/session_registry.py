"""Registry of the sessions that a gateway has served, so that an ended one is never answered from a new world.

It is an SQLite file, or in memory if no file is given. A session is in it from its first call on. Ended sessions are
deleted after `LAPSE` days, and the oldest first if there are more than `MOST`.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

log = logging.getLogger(__name__)
MOST = 100_000  # ended sessions
LAPSE = 30  # days
DAY = 86_400.0  # seconds
Reason = Literal["stopped", "idle", "crowded", "restart"]
TABLE = "CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, told TEXT, ended REAL, reason TEXT)"
INDEX = "CREATE INDEX IF NOT EXISTS by_end ON session (ended)"


class EndedSession(NamedTuple):
    """A session's last known state, when it ended in seconds since 1970, and why."""

    fields: dict[str, Any]
    ended: float
    reason: Reason


class SessionRegistry:
    """Sessions by id; those that an earlier gateway left open in the file count as ended.

    Every method raises sqlite3.Error if the file can't be read or written.
    """

    def __init__(self, path: Path | None, wall: Callable[[], float], most: int = MOST):
        self.wall, self.most = wall, most
        self.database = open_database(path)
        self.database.execute("UPDATE session SET ended = ?, reason = 'restart' WHERE ended IS NULL", [wall()])
        self.database.execute("DELETE FROM session WHERE ended < ?", [wall() - LAPSE * DAY])

    def add(self, id: str, fields: dict[str, Any]) -> None:
        """Record that a session is served."""
        self.database.execute("INSERT OR REPLACE INTO session VALUES (?, ?, NULL, NULL)", [id, json.dumps(fields)])

    def end(self, id: str, fields: dict[str, Any], reason: Reason) -> None:
        """Record that a session has ended, and why."""
        row = [id, json.dumps(fields), self.wall(), reason]
        self.database.execute("INSERT OR REPLACE INTO session VALUES (?, ?, ?, ?)", row)
        oldest = "SELECT id FROM session WHERE ended IS NOT NULL ORDER BY ended DESC, rowid DESC LIMIT -1 OFFSET ?"
        self.database.execute(f"DELETE FROM session WHERE id IN ({oldest})", [self.most])

    def remove(self, id: str) -> None:
        """Remove a session, so that it can be served again."""
        self.database.execute("DELETE FROM session WHERE id = ?", [id])

    def find(self, id: str) -> EndedSession | None:
        """Return the session of this id, which the gateway does not have open, or None if it was never served."""
        found = self.database.execute("SELECT told, ended, reason FROM session WHERE id = ?", [id]).fetchone()
        return None if found is None else read(found)

    def recent(self, most: int) -> list[EndedSession]:
        """Return up to `most` of the sessions that ended last."""
        query = "SELECT told, ended, reason FROM session WHERE ended IS NOT NULL ORDER BY ended DESC LIMIT ?"
        return [read(row) for row in self.database.execute(query, [most])]

    def close(self) -> None:
        self.database.close()


def read(row: tuple[str, float | None, Reason | None]) -> EndedSession:
    """Return a row as an ended session; if its end could not be written, as one that was idle."""
    fields = json.loads(row[0])
    return EndedSession(fields, row[1] or fields["used"], row[2] or "idle")


def open_database(path: Path | None) -> sqlite3.Connection:
    """Open the database in a file that only this user can read. A damaged file is renamed and a new one created."""
    if path is None:
        return connect_database(":memory:")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(0o600)
    try:
        return connect_database(str(path))
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):  # a full disk or missing permission: the file may be intact
            raise
        aside = path.replace(path.with_suffix(".damaged"))
        log.warning("%s was damaged and is now %s: sessions served before count as new.", path, aside.name)
        path.touch(0o600)
        return connect_database(str(path))


def connect_database(name: str) -> sqlite3.Connection:
    database = sqlite3.connect(name, isolation_level=None, check_same_thread=False)
    for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", TABLE, INDEX):
        database.execute(statement)
    return database
