"""A registry of the sessions that a gateway has served, so that none that is gone is answered from a new world.

It is an SQLite file, or in memory where no file is named. A session is in it from its first call on. What ended is
forgotten after `LAPSE` days, and the oldest first when there are more than `MOST`.
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
    """What was known of a session when it ended, at a moment in seconds since 1970, and why it did."""

    told: dict[str, Any]
    ended: float
    reason: Reason


class SessionRegistry:
    """Sessions by id; those that an earlier gateway left open in the file ended with it.

    Every method raises sqlite3.Error where the file cannot be read or written.
    """

    def __init__(self, path: Path | None, wall: Callable[[], float], most: int = MOST):
        self.wall, self.most = wall, most
        self.database = opened(path)
        self.database.execute("UPDATE session SET ended = ?, reason = 'restart' WHERE ended IS NULL", [wall()])
        self.database.execute("DELETE FROM session WHERE ended < ?", [wall() - LAPSE * DAY])

    def add(self, id: str, told: dict[str, Any]) -> None:
        """Note that a session is served."""
        self.database.execute("INSERT OR REPLACE INTO session VALUES (?, ?, NULL, NULL)", [id, json.dumps(told)])

    def end(self, id: str, told: dict[str, Any], reason: Reason) -> None:
        """Note that a session is gone, and why."""
        row = [id, json.dumps(told), self.wall(), reason]
        self.database.execute("INSERT OR REPLACE INTO session VALUES (?, ?, ?, ?)", row)
        oldest = "SELECT id FROM session WHERE ended IS NOT NULL ORDER BY ended DESC, rowid DESC LIMIT -1 OFFSET ?"
        self.database.execute(f"DELETE FROM session WHERE id IN ({oldest})", [self.most])

    def remove(self, id: str) -> None:
        """Let the session be served again."""
        self.database.execute("DELETE FROM session WHERE id = ?", [id])

    def find(self, id: str) -> EndedSession | None:
        """The session of this id, for a gateway that does not have it open, or None when it was never served."""
        found = self.database.execute("SELECT told, ended, reason FROM session WHERE id = ?", [id]).fetchone()
        return None if found is None else read(found)

    def recent(self, most: int) -> list[EndedSession]:
        """Those that ended last."""
        query = "SELECT told, ended, reason FROM session WHERE ended IS NOT NULL ORDER BY ended DESC LIMIT ?"
        return [read(row) for row in self.database.execute(query, [most])]

    def close(self) -> None:
        self.database.close()


def read(row: tuple[str, float | None, Reason | None]) -> EndedSession:
    """A row as a session; where its end could not be written, as one that was idle."""
    told = json.loads(row[0])
    return EndedSession(told, row[1] or told["used"], row[2] or "idle")


def opened(path: Path | None) -> sqlite3.Connection:
    """The database in a file of this user alone. A damaged file is put aside and a new one begun."""
    if path is None:
        return connected(":memory:")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(0o600)
    try:
        return connected(str(path))
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):  # no room, or no permission: the file may be well
            raise
        aside = path.replace(path.with_suffix(".damaged"))
        log.warning("%s was damaged and is now %s: sessions served before count as new.", path, aside.name)
        path.touch(0o600)
        return connected(str(path))


def connected(name: str) -> sqlite3.Connection:
    database = sqlite3.connect(name, isolation_level=None, check_same_thread=False)
    for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", TABLE, INDEX):
        database.execute(statement)
    return database
