"""Background upload of a run's files to the storage; if the storage is unavailable, the files wait and none is lost.

Uploaded files are recorded next to the files, so that a later attempt or another process uploads only the rest.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..core.trajectory import file_digest
from .folder import step_of
from .storage import Storage, StorageFailed

BROUGHT = "brought.jsonl"
PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)  # seconds between retries while the storage does not respond


@dataclass(frozen=True)
class UploadStatus:
    """The upload status: the number of waiting files, and the last error."""

    waiting: int
    error: str = ""


class Courier(threading.Thread):
    """A thread that uploads the files of the folder that are not recorded as uploaded, oldest step first.

    Files of steps after `rewound` that exist only in the storage belong to a discarded attempt and are removed.
    """

    def __init__(self, folder: Path, storage: Storage, rewound: int | None = None, pauses: Sequence[float] = PAUSES):
        super().__init__(name="courier", daemon=True)
        self.folder, self.storage, self.rewound, self.pauses = folder, storage, rewound, pauses
        self.state = threading.Condition()
        self.wanted, self.busy, self.ending, self.failures = True, False, False, 0
        self.news = UploadStatus(0)

    def notify_new_files(self) -> None:
        """Notify the thread of new files in the folder."""
        with self.state:
            self.wanted = True
            self.state.notify_all()

    def finish(self, patience: float) -> UploadStatus:
        """Wait until all files are uploaded, at most `patience` seconds, and end the thread."""
        with self.state:
            self.failures = 0  # retry immediately
            self.state.notify_all()
            self.state.wait_for(lambda: not (self.wanted or self.busy or self.news.waiting), patience)
            self.ending = True
            self.state.notify_all()
        self.join(1.0)
        return self.news

    def run(self) -> None:
        while self.rest():
            self.round()

    def rest(self) -> bool:
        """Wait for work or for the next retry; return False at the end."""
        with self.state:
            if self.failures:
                pause = self.pauses[min(self.failures, len(self.pauses)) - 1]
                self.state.wait_for(lambda: self.ending or not self.failures, pause)
            else:
                self.state.wait_for(lambda: self.ending or self.wanted)
            self.wanted, self.busy = False, True
            return not self.ending

    def round(self) -> None:
        """Upload the waiting files until none is left or the storage fails."""
        error = ""
        try:
            if self.rewound is not None:
                remove_void(self.folder, self.storage, self.rewound)
                self.rewound = None
            bring(self.folder, self.storage)
        except StorageFailed as failure:
            error = str(failure)
        except OSError as failure:  # a local disk error: a file could not be read, or its upload not recorded
            error = f"{failure.filename or self.folder}: {failure.strerror or failure}."
        waiting = len(list_pending_files(self.folder))
        with self.state:
            self.busy, self.failures = False, self.failures + 1 if error else 0
            self.news = UploadStatus(waiting, error)
            self.state.notify_all()


def bring(folder: Path, storage: Storage) -> None:
    """Upload every waiting file, and remove token files that are no longer kept. Raises StorageFailed."""
    for name in list_pending_files(folder):
        try:
            data, digest = (folder / name).read_bytes(), file_digest(folder / name)
        except FileNotFoundError:
            continue  # tokens of a step that is no longer the last one
        storage.put(name, data)
        note(folder, name, digest)
    for name, digest in load_uploaded_digests(folder).items():
        if digest and name.startswith("tokens-") and not (folder / name).exists():
            storage.remove(name)
            note(folder, name, "")


def list_pending_files(folder: Path) -> list[str]:
    """Return the files of the folder whose current version is not in the storage, by step."""
    known = load_uploaded_digests(folder)
    names = [file.name for file in folder.glob("*.parquet") if step_of(file.name) is not None]
    return sorted((name for name in names if has_changed(folder / name, known)), key=lambda name: (step_of(name), name))


def has_changed(file: Path, known: dict[str, str]) -> bool:
    try:
        return known.get(file.name) != file_digest(file)
    except FileNotFoundError:
        return False


def remove_void(folder: Path, storage: Storage, rewound: int) -> None:
    for name in storage.names():
        step = step_of(name)
        if step is not None and step > rewound and not (folder / name).exists():
            storage.remove(name)


def load_uploaded_digests(folder: Path) -> dict[str, str]:
    """Return the digest of the last upload by file name; "" for removed files. Truncated lines are ignored."""
    found: dict[str, str] = {}
    if (folder / BROUGHT).is_file():
        for line in (folder / BROUGHT).read_text("utf-8").splitlines():
            with suppress(ValueError):
                name, digest = json.loads(line)
                found[name] = digest
    return found


def note(folder: Path, name: str, digest: str) -> None:
    with (folder / BROUGHT).open("a", encoding="utf-8") as file:
        file.write(f"\n{json.dumps([name, digest])}\n")  # the line before may be truncated
