"""Files that people send in pieces, kept in the data folder until they are imported or a day has gone by."""

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
from prove_web.disk_guard import room, room_for
from training_worker.prove.importers.archive import MOST_PACKED

PIECE = 4 << 20  # bytes sent at a time
KEPT_SECONDS = 24 * 3600
HELD_SECONDS = 1800  # for which an announcement holds room; then it is forgotten, if nothing came
MOST_UPLOADS = 20  # of a project
ABOUT, CONTENT, HEAD = "about.json", "content", "head"


class NotTaken(ValueError):
    """A file or a piece that is not taken; the message says why and what to do."""


@dataclass(frozen=True)
class Upload:
    """A file on its way to a project: `size` is what was announced."""

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
        """Append what follows what is there; how much there is then. Raises NotTaken, NoRoom, OSError."""
        received = self.received
        room_for(f"“{self.name}”", self.size - received)
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
            os.truncate(self.content, at)  # a piece is here whole or not at all
            raise
        return self.received

    def forget(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def root() -> Path:
    return Path(settings.PROVE_DATA) / "uploads"


def begin(project: Project, name: str, size: int) -> Upload:
    """Room for a file, before a byte of it is sent. Raises NotTaken, NoRoom, OSError."""
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
    room_for(f"“{Path(name).name[:120]}” and its dataset", 2 * size + promised(project))
    made = Upload(str(uuid.uuid4()), project.pk, Path(name.replace("\0", "")).name[:120] or "file", size)
    made.folder.mkdir(parents=True)
    made.content.touch()
    (made.folder / ABOUT).write_text(json.dumps(asdict(made)), "utf-8")
    return made


def on_their_way() -> list[Upload]:
    return [one for one in map(read, root().glob("*")) if one]


def promised(project: Project) -> int:
    """Bytes that announced files still hold of the room: for their rest, and for what is made of them.

    Those of all other projects together hold half of it at most.
    """
    own = others = 0
    for one in on_their_way():
        if age(one.folder / ABOUT) <= HELD_SECONDS:
            held = 2 * one.size - received_of(one)
            own, others = (own + held, others) if one.project == project.pk else (own, others + held)
    return own + min(others, room() // 2)


def age(path: Path) -> float:
    """Seconds since a file was written; endless where it is gone."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return float("inf")


def received_of(upload: Upload) -> int:
    try:
        return upload.received
    except FileNotFoundError:
        return 2 * upload.size  # it has just gone on its way


def read(folder: Path) -> Upload | None:
    try:
        return Upload(**json.loads((folder / ABOUT).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def find_upload(project: Project, id: Any) -> Upload | None:
    """The upload to this project; None for any other."""
    try:
        one = read(root() / str(uuid.UUID(str(id))))
    except ValueError:
        return None
    return one if one and one.project == project.pk and one.content.exists() else None


def forget_old() -> None:
    """Remove what was begun a day ago, and what was only announced."""
    for folder in root().glob("*"):
        one = read(folder)
        lapsed = one is not None and age(folder / ABOUT) > HELD_SECONDS and received_of(one) == 0
        if lapsed or age(folder) > KEPT_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)  # somebody else forgets it, too
