"""A local cache of storage files by their digest, so that a cached file is never out of date."""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path

from .parquet import DamagedFile
from .storage import Storage

MOST = 500_000_000  # bytes
DIGEST = re.compile("[0-9a-f]{64}")


def is_digest(text: str) -> bool:
    """Return whether it is a SHA-256 and hence no pattern or path, because remote machines send the digests."""
    return bool(DIGEST.fullmatch(text))


class Cache:
    """A folder of at most `most` bytes with LRU eviction, which several processes may share."""

    def __init__(self, folder: Path, most: int = MOST):
        self.folder, self.most = folder, most

    def file(self, storage: Storage, name: str, digest: str) -> Path:
        """Return a local copy of a storage file. Raises StorageFailed, FileNotFoundError, DamagedFile, OSError."""
        if not is_digest(digest):
            raise DamagedFile(f"The recorded digest of the file {name} is not a SHA-256, so it cannot be fetched.")
        copy = self.folder / f"{digest}-{name}"
        if copy.is_file():
            os.utime(copy)
            return copy
        data = storage.get(name)
        if hashlib.sha256(data).hexdigest() != digest:
            raise DamagedFile(
                f"The file {name} in the storage ({len(data):,} bytes) is not the one that the run wrote. "
                "Restore a copy of it; other steps are not affected."
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        partial = copy.with_name(f"{copy.name}.{os.getpid()}.partial")
        try:
            partial.write_bytes(data)
            partial.replace(copy)
        finally:
            partial.unlink(missing_ok=True)
        self.trim(copy)
        return copy

    def trim(self, newest: Path) -> None:
        """Remove the least recently used files until the rest fits; the newest file always stays."""
        files = sorted(self.folder.glob("*.parquet"), key=age)
        size = sum(map(size_of, files))
        for file in files:
            if size <= self.most:
                return
            if file != newest:
                size -= size_of(file)
                with suppress(FileNotFoundError):
                    file.unlink()


def age(file: Path) -> float:
    with suppress(FileNotFoundError):
        return file.stat().st_mtime
    return 0.0


def size_of(file: Path) -> int:
    with suppress(FileNotFoundError):
        return file.stat().st_size
    return 0
