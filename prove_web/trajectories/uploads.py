"""Files that users upload in chunks, stored in the data folder until they are imported or a day has passed."""

from __future__ import annotations

import json
import os
import shutil
import time
import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from prove_web.accounts.models import Project
from prove_web.core.disk_guard import get_writable_bytes, require_disk_space
from training_worker.datasets.importers.archive import MOST_PACKED

PIECE = 4 << 20  # bytes per chunk
MAX_AGE = 24 * 3600
HELD_SECONDS = 1800  # for which an announced file reserves room; then it is removed, if nothing came
MOST_UPLOADS = 20  # per project
ABOUT, CONTENT, HEAD = "about.json", "content", "head"


class NotTaken(ValueError):
    """Rejection of a file or chunk; the message says why and what to do."""


@dataclass(frozen=True)
class Upload:
    """An upload to a project: `size` is the announced number of bytes."""

    id: str
    project: int
    name: str
    size: int

    @property
    def folder(self) -> Path:
        return root() / self.id

    @property
    def content(self) -> Path:
        return self.folder / CONTENT

    @property
    def received(self) -> int:
        return self.content.stat().st_size

    @property
    def complete(self) -> bool:
        return self.received == self.size

    def add(self, at: int, pieces: Iterable[bytes]) -> int:
        """Append the chunk at the current end. Return the bytes received. Raises NotTaken, NoDiskSpace and OSError."""
        received = self.received
        require_disk_space(f"“{self.name}”", self.size - received)
        if at != received:
            raise NotTaken(f"{received:,} bytes were received; continue from there.")
        try:
            with self.content.open("r+b") as file:
                file.seek(at)
                for piece in pieces:
                    if file.tell() + len(piece) > self.size:
                        raise NotTaken(f"More than the announced {self.size:,} bytes were received. Start again.")
                    file.write(piece)
        except (NotTaken, OSError):
            os.truncate(self.content, at)  # a chunk is stored completely or not at all
            raise
        return self.received

    def forget(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def root() -> Path:
    return Path(settings.PROVE_DATA) / "uploads"


def begin(project: Project, name: str, size: int) -> Upload:
    """Reserve room for a file before any of its bytes is sent. Raises NotTaken, NoDiskSpace and OSError."""
    if size < 1:
        raise NotTaken("The file is empty. Choose another.")
    if size > MOST_PACKED:
        raise NotTaken(
            f"The file has {size:,} bytes; the limit is {MOST_PACKED:,}. Compress it with gzip or zstd, or split it."
        )
    forget_old()
    if sum(one.project == project.pk for one in on_their_way()) >= MOST_UPLOADS:
        raise NotTaken(
            f"This project has {MOST_UPLOADS:,} pending uploads, the maximum. Import them, or wait: each is removed "
            "one day after it was started."
        )
    require_disk_space(f"“{Path(name).name[:120]}” and its dataset", 2 * size + count_reserved_bytes(project))
    made = Upload(str(uuid.uuid4()), project.pk, Path(name.replace("\0", "")).name[:120] or "file", size)
    made.folder.mkdir(parents=True)
    made.content.touch()
    (made.folder / ABOUT).write_text(json.dumps(asdict(made)), "utf-8")
    return made


def on_their_way() -> list[Upload]:
    return [one for one in map(read, root().glob("*")) if one]


def count_reserved_bytes(project: Project) -> int:
    """Return the bytes that announced files still reserve: for their rest, and for their datasets.

    Those of all other projects together reserve at most half of the room.
    """
    own = others = 0
    for one in on_their_way():
        if age(one.folder / ABOUT) <= HELD_SECONDS:
            held = 2 * one.size - received_of(one)
            own, others = (own + held, others) if one.project == project.pk else (own, others + held)
    return own + min(others, get_writable_bytes() // 2)


def age(path: Path) -> float:
    """Return the seconds since a file was written; infinity if it is gone."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return float("inf")


def received_of(upload: Upload) -> int:
    try:
        return upload.received
    except FileNotFoundError:
        return 2 * upload.size  # it was just moved to its job


def read(folder: Path) -> Upload | None:
    try:
        return Upload(**json.loads((folder / ABOUT).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def find_upload(project: Project, id: Any) -> Upload | None:
    """Return the upload of this project; None for any other."""
    try:
        one = read(root() / str(uuid.UUID(str(id))))
    except ValueError:
        return None
    return one if one and one.project == project.pk and one.content.exists() else None


def forget_old() -> None:
    """Remove uploads that began more than a day ago, and files that were only announced."""
    for folder in root().glob("*"):
        one = read(folder)
        lapsed = one is not None and age(folder / ABOUT) > HELD_SECONDS and received_of(one) == 0
        if lapsed or age(folder) > MAX_AGE:
            shutil.rmtree(folder, ignore_errors=True)  # another process may remove it too
