"""Creation of a backup while the site is in use: the database first, then the files it refers to."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.db import connection

from prove_web.core.disk_guard import NoDiskSpace, bytes_of, require_disk_space, shares_disk
from prove_web.supervisor.checks import DATA_VERSION

from . import databases
from .archive import ABOUT, DATABASE, FILES, MANIFEST, BackupFailed, Writer, create_archive
from .contents import files, links
from .manifest import FORMAT, BackupMetadata, Manifest, Member

Progress = Callable[[int, int], None]


@dataclass
class BackupSummary:
    """Contents of a backup. `gone` files were removed while it was made, and `links` are omitted."""

    files: int = 0
    bytes: int = 0
    gone: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)


def backup(file: Path, without: Collection[str], progress: Progress) -> BackupSummary:
    """Write the whole site to one file. Raises BackupFailed, leaving no files behind.

    A job writes its files before its event, so files referred to by the database copy exist afterwards.
    """
    data = settings.PROVE_DATA
    made = BackupSummary(links=links(data))
    scratch_folder = tempfile.TemporaryDirectory(prefix="prove-backup-", dir=require_folder(file.parent))
    with scratch_folder as scratch, create_archive(file) as archive:
        copy = Path(scratch) / DATABASE
        leave_room(file.parent, databases.sqlite_file() or copy)
        databases.snapshot(copy)
        archive.text(ABOUT, build_backup_metadata(without).model_dump_json(indent=1).encode())
        with copy.open("rb") as database:
            made.bytes += archive.file(DATABASE, database)
        copy.unlink()
        add_files(archive, data, frozenset(without), made, progress, file.parent)
        members = {name: Member(bytes=size, sha256=digest) for name, (size, digest) in archive.members.items()}
        archive.text(MANIFEST, Manifest(members=members, gone=made.gone).model_dump_json().encode())
    return made


def require_folder(folder: Path) -> Path:
    if not folder.is_dir():
        raise BackupFailed(f"{folder} is not a folder: create it, or choose another")
    return folder


def leave_room(target: Path, file: Path) -> None:
    """Raise BackupFailed if writing this file to a folder on the site's disk would use up the reserved space."""
    try:
        if shares_disk(target):
            require_disk_space("the backup", bytes_of(file))
    except NoDiskSpace as why:
        raise BackupFailed(f"{why} Or choose a file on another disk.") from None


def build_backup_metadata(without: Collection[str]) -> BackupMetadata:
    """Return the information that a restore needs first."""
    return BackupMetadata(
        format=FORMAT,
        data_version=DATA_VERSION,
        made_at=datetime.now(UTC).replace(microsecond=0),
        database=connection.vendor,
        migrations=databases.migrations(),
        without=sorted(without),
    )


def add_files(
    archive: Writer, data: Path, without: frozenset[str], made: BackupSummary, progress: Progress, target: Path
) -> None:
    found = list(files(data, databases.sqlite_file(), without))
    for done, (name, path) in enumerate(found):
        progress(done, len(found))
        leave_room(target, path)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            made.gone.append(name)
            continue
        except OSError as error:
            raise BackupFailed(f"cannot read {path}: {error.strerror}") from None
        with os.fdopen(descriptor, "rb") as file:
            made.bytes += archive.file(FILES + name, file)
        made.files += 1
