"""Files that people send in pieces, kept in the data folder until they are imported or a day has gone by."""

from __future__ import annotations

import json
import shutil
import time
import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from prove_web.accounts.models import Project
from training_worker.prove.importers.packed import MOST_PACKED

PIECE = 4 << 20  # bytes sent at a time
KEPT_SECONDS = 24 * 3600
GB = 10**9  # bytes
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
    def whole(self) -> bool:
        return self.received == self.size

    def add(self, at: int, pieces: Iterable[bytes]) -> int:
        """Append what follows what is there; how much there is then. Raises NotTaken."""
        room_for(self.size - at)
        received = self.received
        if at != received:
            raise NotTaken(f"{received:,} bytes are here; send what follows them.")
        with self.content.open("r+b") as file:
            file.seek(at)
            for piece in pieces:
                if file.tell() + len(piece) > self.size:
                    file.truncate(at)
                    raise NotTaken(f"More came than the {self.size:,} bytes that were announced. Begin again.")
                file.write(piece)
        return self.received

    def forget(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def root() -> Path:
    return Path(settings.PROVE_DATA) / "uploads"


def begin(project: Project, name: str, size: int) -> Upload:
    """Room for a file, before a byte of it is sent. Raises NotTaken, OSError."""
    if size < 1:
        raise NotTaken("There is nothing in this file. Choose another.")
    if size > MOST_PACKED:
        raise NotTaken(
            f"This file has {size:,} bytes; {MOST_PACKED:,} is the most. Pack it with gzip or zstd, or part it."
        )
    forget_old()
    room_for(2 * size)
    made = Upload(str(uuid.uuid4()), project.pk, Path(name.replace("\0", "")).name[:120] or "file", size)
    made.folder.mkdir(parents=True)
    made.content.touch()
    (made.folder / ABOUT).write_text(json.dumps(asdict(made)), "utf-8")
    return made


def room_for(size: int) -> None:
    """Raises NotTaken where so many bytes would take the last of the disk, which is for the site itself."""
    free = max(0, shutil.disk_usage(settings.PROVE_DATA).free - settings.FREE_GB * GB)
    if size > free:
        raise NotTaken(
            f"There is no room for it: {free:,} bytes can be taken where the site keeps its data, and it takes about "
            f"{size:,}. Ask who runs the site to make room."
        )


def found(project: Project, id: Any) -> Upload | None:
    """The upload to this project; None for any other."""
    try:
        one = Upload(**json.loads((root() / str(uuid.UUID(str(id))) / ABOUT).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return one if one.project == project.pk and one.content.exists() else None


def forget_old() -> None:
    for folder in root().glob("*"):
        with suppress(FileNotFoundError):  # somebody else forgets it, too
            if time.time() - folder.stat().st_mtime > KEPT_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
