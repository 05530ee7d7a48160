"""Checkpoints of a run that are still on disk, and their download as a streamed zip."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prove_web.live.models import Job

COMPLETE = "progress.json"  # present once a checkpoint is complete
CHUNK = 1 << 20


@dataclass(frozen=True)
class Checkpoint:
    step: int
    folder: Path

    @property
    def files(self) -> list[Path]:
        """Return regular files only, because a symbolic link might lead out of the folder."""
        return sorted(file for file in self.folder.iterdir() if file.is_file() and not file.is_symlink())

    @property
    def size(self) -> int:
        return sum(file.stat().st_size for file in self.files)


def checkpoints(job: Job) -> list[Checkpoint]:
    """Return the complete checkpoints, newest first. A run retains only its last few."""
    folders = (job.out / "checkpoints").glob("checkpoint-*")
    found = (
        (re.fullmatch(r"checkpoint-(\d+)", folder.name), folder) for folder in folders if (folder / COMPLETE).is_file()
    )
    return sorted((Checkpoint(int(name[1]), folder) for name, folder in found if name), key=lambda one: -one.step)


class Outbox:
    """A write-only buffer for a streamed zip; `take` returns and clears what was written."""

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


def stream_zip(checkpoint: Checkpoint) -> Iterator[bytes]:
    """Yield the zip of a checkpoint in chunks. Weights do not compress, so files are stored uncompressed."""
    outbox = Outbox()
    with zipfile.ZipFile(outbox, "w", zipfile.ZIP_STORED) as archive:  # type: ignore[call-overload]
        for path in checkpoint.files:
            name = f"{checkpoint.folder.name}/{path.name}"
            with path.open("rb") as source, archive.open(name, "w", force_zip64=True) as target:
                while piece := source.read(CHUNK):
                    target.write(piece)
                    yield outbox.take()
    yield outbox.take()
