"""Results of an evaluation on disk: a JSON line per finished item, so that an interrupted evaluation can resume."""

from __future__ import annotations

import fcntl
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from types import TracebackType

from pydantic import ValidationError

from ..core.trajectory import UnreadableData, dumps, each_line, loads
from .protocol import Identity, Result

IDENTITY, ITEMS, REPORT, LOCK = "evaluation.json", "items.jsonl", "report.json", "lock"
RESULTS = "results"  # name of the results folder in a job's `out` and in a site's `benchmarks`


class ResultsTaken(Exception):
    """A folder that belongs to another evaluation or to a running one; the message says which and what to do."""


def folder_of(root: Path, identity: Identity) -> Path:
    """Return the folder for the results of this identity."""
    digest = hashlib.sha256(dumps(identity).encode()).hexdigest()[:12]
    return root / identity.benchmark / f"{slugify_model_name(identity.model)}-{digest}"


def slugify_model_name(model: str) -> str:
    """Return a model's name as part of a folder name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", model)[:60].strip("-.") or "model"


def folders_of(root: Path, benchmark: str, model: str) -> list[Path]:
    """Return all folders of results of a model on a benchmark, the newest first."""
    named = re.compile(re.escape(slugify_model_name(model)) + "-[0-9a-f]{12}")
    found = [file.parent for file in (root / benchmark).glob(f"*/{ITEMS}") if named.fullmatch(file.parent.name)]
    return sorted(found, key=lambda folder: ((folder / ITEMS).stat().st_mtime, folder.name), reverse=True)


def identity_in(folder: Path) -> Identity:
    """Return the identity of a folder's results. Raises ResultsTaken when it has none."""
    try:
        return loads(Identity, (folder / IDENTITY).read_bytes())
    except (OSError, ValidationError):
        raise ResultsTaken(f"{folder} holds no results of an evaluation.") from None


def results_in(folder: Path) -> dict[str, Result]:
    """Return the results of a folder by item id, without changing the folder. Raises UnreadableData."""
    path = folder / ITEMS
    if not path.exists():
        return {}
    return {result.item: result for result in read_complete_lines(path)}


def read_complete_lines(path: Path) -> Iterator[Result]:
    """Yield the results of a file, without an incomplete last line. Raises UnreadableData."""
    for value in each_line(Result, path):
        if isinstance(value, Result):
            yield value
        elif not is_torn_line(path, value.line):
            raise UnreadableData(f"{value} Remove that line; its item is then run again.")


def is_torn_line(path: Path, number: int) -> bool:
    """Return whether a line is the last one and lacks its newline."""
    data = path.read_bytes()
    return not data.endswith(b"\n") and number == data.count(b"\n") + 1


class Results:
    """A results folder open for writing, by one process at a time. Thread-safe. Use it as a context manager."""

    def __init__(self, folder: Path, identity: Identity):
        self.folder, self.identity, self.lock = folder, identity, Lock()
        self.done: dict[str, Result] = {}
        self.lines: dict[str, int] = {}  # line number of each item in ITEMS, from 0
        self.written = 0

    def __enter__(self) -> Results:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.held = (self.folder / LOCK).open("w")
        try:
            fcntl.flock(self.held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.held.close()
            raise ResultsTaken(f"Another evaluation is writing to {self.folder}: wait for it, or stop it.") from None
        try:
            self.claim()
            forget_torn_line(self.folder / ITEMS)
            self.read()
        except BaseException:
            self.held.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.held.close()

    def claim(self) -> None:
        """Claim the folder for this evaluation. Raises ResultsTaken when it belongs to another one."""
        path = self.folder / IDENTITY
        if not path.exists():
            replace_text(path, dumps(self.identity))
        elif identity_in(self.folder) != self.identity:
            raise ResultsTaken(
                f"{self.folder} holds results of another model, version or sampling: name another folder with --out."
            )

    def read(self) -> None:
        """Load the results of earlier runs."""
        for result in read_complete_lines(self.folder / ITEMS) if (self.folder / ITEMS).exists() else ():
            self.take(result)

    def add(self, result: Result) -> None:
        line = (dumps(result) + "\n").encode()
        with self.lock, (self.folder / ITEMS).open("ab") as file:
            file.write(line)
            self.take(result)

    def take(self, result: Result) -> None:
        self.done[result.item], self.lines[result.item] = result, self.written
        self.written += 1


def forget_torn_line(path: Path) -> None:
    """Truncate an incomplete last line, which a killed process leaves behind."""
    if path.exists():
        data = path.read_bytes()
        complete = data.rfind(b"\n") + 1
        if complete < len(data):
            with path.open("r+b") as file:
                file.truncate(complete)


def replace_text(path: Path, text: str) -> None:
    """Write a file atomically."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
