"""Answers on disk by the hash of the request, so that interrupted work resumes without paying twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from .settings import EndpointFailed, variable

FILE = "answers.sqlite3"


class Answers:
    """A table from key to answer. The first answer to a key is final, also across processes."""

    def __init__(self, folder: Path):
        self.path, self.lock = folder / FILE, Lock()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EndpointFailed(f"{folder}: {error.strerror}; name another in {variable('cache')}.") from None
        with self.translate_errors():
            self.table = sqlite3.connect(self.path, timeout=20, isolation_level=None, check_same_thread=False)
        try:
            with self.translate_errors():
                self.table.execute("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL)")
        except EndpointFailed:
            self.table.close()
            raise

    def find(self, key: str) -> str | None:
        with self.lock, self.translate_errors():
            row = self.table.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def put(self, key: str, answer: str) -> str:
        """Store an answer unless there is one, and return the stored one."""
        with self.lock, self.translate_errors():
            self.table.execute("INSERT OR IGNORE INTO answers VALUES (?, ?)", (key, answer))
        return self.find(key) or answer

    def close(self) -> None:
        with self.lock:
            self.table.close()

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Translate errors of SQLite into EndpointFailed with a one-line message."""
        try:
            yield
        except sqlite3.Error as error:
            raise EndpointFailed(
                f"{self.path} cannot be used ({error}): free disk space, remove it, or name another folder in "
                f"{variable('cache')}."
            ) from None
