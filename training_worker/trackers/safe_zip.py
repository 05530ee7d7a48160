"""Unpacking of an untrusted zip: only plain files inside one folder, and within limits."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path, PurePosixPath
from typing import IO

from .tracked_run import NotRead

MOST_FILES = 5_000
MOST_BYTES = 512 << 20  # of all files together, unpacked
PIECE = 1 << 20


def is_zip(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4).startswith(b"PK")


def unpack(file: IO[bytes] | Path, folder: Path) -> None:
    """Unpack a zip. Raises NotRead; what was unpacked until then stays in the folder."""
    try:
        with zipfile.ZipFile(file) as packed:
            entries = packed.infolist()
            if len(entries) > MOST_FILES:
                raise NotRead(f"The zip has {len(entries):,} files; the limit is {MOST_FILES:,}.")
            left = MOST_BYTES
            for entry in entries:
                left -= unpack_entry(packed, entry, folder, left)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, ValueError, RuntimeError) as error:
        if isinstance(error, NotRead):
            raise
        raise NotRead(f"The zip cannot be unpacked: {str(error)[:200]}.") from None


def unpack_entry(packed: zipfile.ZipFile, entry: zipfile.ZipInfo, folder: Path, most: int) -> int:
    """Unpack one entry. Return its size in bytes."""
    path = PurePosixPath(entry.filename)
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if path.is_absolute() or ".." in path.parts or "\\" in entry.filename or "\0" in entry.filename:
        raise NotRead(f"“{entry.filename[:100]}” in the zip lies outside of it.")
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise NotRead(f"“{entry.filename[:100]}” in the zip is not a plain file.")
    target = folder.joinpath(*path.parts)
    if entry.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        return 0
    target.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with packed.open(entry) as source, target.open("xb") as out:
        while piece := source.read(PIECE):
            size += len(piece)
            if size > most:
                raise NotRead(f"The zip holds more than {MOST_BYTES:,} bytes, the limit.")
            out.write(piece)
    return size
