"""The results of one evaluation on disk: a JSON line for every finished item, so that work that was cut off goes on."""

from __future__ import annotations

import fcntl
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from types import TracebackType

from pydantic import ValidationError

from ..trajectory import UnreadableData, dumps, each_line, loads
from .protocol import Identity, Result

IDENTITY, ITEMS, REPORT, LOCK = "evaluation.json", "items.jsonl", "report.json", "lock"
RESULTS = "results"  # a folder of results alone: in a job's `out`, and among the benchmarks of a site


class ResultsTaken(Exception):
    """A folder that belongs to another evaluation, or to one that is under way; says which and what to do."""


def folder_of(root: Path, identity: Identity) -> Path:
    """Where the results of this identity are kept, a folder of its own."""
    digest = hashlib.sha256(dumps(identity).encode()).hexdigest()[:12]
    return root / identity.benchmark / f"{plain(identity.model)}-{digest}"


def plain(model: str) -> str:
    """A model's name as part of a folder's."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", model)[:60].strip("-.") or "model"


def folders_of(root: Path, benchmark: str, model: str) -> list[Path]:
    """The folders of results of a model on a benchmark, whatever else identifies them, the newest first."""
    named = re.compile(re.escape(plain(model)) + "-[0-9a-f]{12}")
    found = [file.parent for file in (root / benchmark).glob(f"*/{ITEMS}") if named.fullmatch(file.parent.name)]
    return sorted(found, key=lambda folder: ((folder / ITEMS).stat().st_mtime, folder.name), reverse=True)


def identity_in(folder: Path) -> Identity:
    """Whose results a folder holds. Raises ResultsTaken when it holds none."""
    try:
        return loads(Identity, (folder / IDENTITY).read_bytes())
    except (OSError, ValidationError):
        raise ResultsTaken(f"{folder} holds no results of an evaluation.") from None


def results_in(folder: Path) -> dict[str, Result]:
    """The finished items of a folder by id; nothing there is changed. Raises UnreadableData."""
    path = folder / ITEMS
    if not path.exists():
        return {}
    return {result.item: result for result in read_complete_lines(path)}


def read_complete_lines(path: Path) -> Iterator[Result]:
    """The results of a file, without a torn last line. Raises UnreadableData."""
    for value in each_line(Result, path):
        if isinstance(value, Result):
            yield value
        elif not torn(path, value.line):
            raise UnreadableData(f"{value} Remove that line; its item is then run again.")


def torn(path: Path, number: int) -> bool:
    """Whether a line is the last and has no end."""
    data = path.read_bytes()
    return not data.endswith(b"\n") and number == data.count(b"\n") + 1


class Results:
    """The folder while it is written: one process at a time. Threads may share it; use it in a `with`."""

    def __init__(self, folder: Path, identity: Identity):
        self.folder, self.identity, self.lock = folder, identity, Lock()
        self.done: dict[str, Result] = {}
        self.lines: dict[str, int] = {}  # of ITEMS, from 0: where each of them is
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
        """Make the folder this evaluation's. Raises ResultsTaken when it is another's."""
        path = self.folder / IDENTITY
        if not path.exists():
            replace_text(path, dumps(self.identity))
        elif identity_in(self.folder) != self.identity:
            raise ResultsTaken(
                f"{self.folder} holds results of another model, version or sampling: name another folder with --out."
            )

    def read(self) -> None:
        """What was finished before."""
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
    """Cut off what follows the last whole line: the process that wrote it was killed."""
    if path.exists():
        data = path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            with path.open("r+b") as file:
                file.truncate(whole)


def replace_text(path: Path, text: str) -> None:
    """Write a file that appears whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
