"""Streaming reader and writer of backup tars; only the member list is held in memory."""

from __future__ import annotations

import gzip
import hashlib
import os
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import IO, Any, cast

import pyarrow

ABOUT, DATABASE, FILES, MANIFEST = "about.json", "database", "files/", "manifest.json"
ZSTANDARD, GZIP = (".tar.zst",), (".tar.gz", ".tgz")
CHUNK = 1 << 20
UNREADABLE = (tarfile.TarError, EOFError, gzip.BadGzipFile, pyarrow.ArrowException, OSError)


class BackupFailed(Exception):
    """Error that prevents a backup or a restore; says what happened and what to do."""


@dataclass
class Digest:
    """A file wrapper that counts the bytes read and computes their SHA-256."""

    file: IO[bytes]
    size: int = 0
    sha256: Any = field(default_factory=hashlib.sha256)

    def read(self, size: int = -1) -> bytes:
        chunk = self.file.read(size)
        self.size += len(chunk)
        self.sha256.update(chunk)
        return chunk

    def size_and_hash(self) -> tuple[int, str]:
        return self.size, self.sha256.hexdigest()


class Writer:
    """A writer that adds members and records their digests."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self.tar = tar
        self.members: dict[str, tuple[int, str]] = {}  # size and digest by name

    def text(self, name: str, content: bytes) -> None:
        self.add(name, BytesIO(content), len(content), 0o600, 0)

    def file(self, name: str, file: IO[bytes]) -> int:
        """Add an open file up to its current size, so that concurrent growth is ignored. Returns its bytes."""
        now = os.fstat(file.fileno())
        self.add(name, file, now.st_size, now.st_mode & 0o777, int(now.st_mtime))
        return now.st_size

    def add(self, name: str, file: IO[bytes], size: int, mode: int, modified: int) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mode, member.mtime = size, mode, modified
        read = Digest(file)
        try:
            self.tar.addfile(member, cast("IO[bytes]", read))
        except OSError as error:
            raise BackupFailed(f"cannot back up {name} ({error}): is the disk full, or did it shrink?") from None
        self.members[name] = read.size_and_hash()


def compression(path: Path) -> str:
    """Return the compression for the file name. Raises BackupFailed."""
    for suffixes, kind in ((ZSTANDARD, "zstd"), (GZIP, "gzip")):
        if path.name.endswith(suffixes):
            return kind
    raise BackupFailed(f"{path.name} has no known compression: end the name in .tar.zst or .tar.gz")


@contextmanager
def create_archive(path: Path) -> Iterator[Writer]:
    """Create an archive readable only by this user, atomically. Raises BackupFailed."""
    kind = compression(path)
    if path.exists():
        raise BackupFailed(f"{path} already exists: choose another name, or move it away")
    partial = path.with_name(f"{path.name}.partial")
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as error:
        raise BackupFailed(f"cannot write {partial}: {error.strerror}") from None
    try:
        with ExitStack() as stack:
            raw = stack.enter_context(os.fdopen(descriptor, "wb"))
            stream = stack.enter_context(pyarrow.CompressedOutputStream(pyarrow.PythonFile(raw, "w"), kind))
            tar = stack.enter_context(tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT))
            yield Writer(tar)
        with partial.open("rb+") as done:
            os.fsync(done.fileno())
        partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def open_archive(path: Path) -> Iterator[tarfile.TarFile]:
    """Open an archive for sequential reading. Raises BackupFailed if it is unreadable."""
    kind = compression(path)
    try:
        with path.open("rb") as raw:
            stream = pyarrow.CompressedInputStream(pyarrow.PythonFile(raw, "r"), kind)
            with stream, tarfile.open(fileobj=stream, mode="r|") as tar:
                yield tar
    except UNREADABLE as error:
        raise BackupFailed(f"{path} cannot be read as a backup ({error}): is it complete?") from None
