"""The checkpoints of a run that are still on disk, and one of them as a zip that is made while it is sent."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prove_web.live.models import Job

COMPLETE = "progress.json"  # a checkpoint is complete once it has this file
CHUNK = 1 << 20


@dataclass(frozen=True)
class Checkpoint:
    step: int
    folder: Path

    @property
    def files(self) -> list[Path]:
        """Plain files only: a link might lead out of the folder."""
        return sorted(file for file in self.folder.iterdir() if file.is_file() and not file.is_symlink())

    @property
    def size(self) -> int:
        return sum(file.stat().st_size for file in self.files)


def checkpoints(job: Job) -> list[Checkpoint]:
    """The complete ones, newest first. A run keeps only its last few."""
    folders = (job.out / "checkpoints").glob("checkpoint-*")
    found = (
        (re.fullmatch(r"checkpoint-(\d+)", folder.name), folder) for folder in folders if (folder / COMPLETE).is_file()
    )
    return sorted((Checkpoint(int(name[1]), folder) for name, folder in found if name), key=lambda one: -one.step)


class Outbox:
    """What a zip writes into: it cannot go back, and what it holds is taken out a piece at a time."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def write(self, data: bytes) -> int:
        self.pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        pass

    def take(self) -> bytes:
        piece, self.pieces = b"".join(self.pieces), []
        return piece


def zipped(checkpoint: Checkpoint) -> Iterator[bytes]:
    """The zip of a checkpoint, piece by piece. Weights do not get smaller, so they are stored as they are."""
    outbox = Outbox()
    with zipfile.ZipFile(outbox, "w", zipfile.ZIP_STORED) as archive:  # type: ignore[call-overload]
        for path in checkpoint.files:
            name = f"{checkpoint.folder.name}/{path.name}"
            with path.open("rb") as source, archive.open(name, "w", force_zip64=True) as target:
                while piece := source.read(CHUNK):
                    target.write(piece)
                    yield outbox.take()
    yield outbox.take()
