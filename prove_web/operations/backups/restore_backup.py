"""Restoring a backup into an empty data folder; nothing is moved into place before everything is verified."""

from __future__ import annotations

import os
import shutil
import tarfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath

from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from prove_web.supervisor.checks import DATA_VERSION

from . import databases
from .archive import ABOUT, CHUNK, DATABASE, FILES, MANIFEST, BackupFailed, Digest, open_archive
from .contents import CHECKPOINT
from .manifest import FORMAT, BackupMetadata, Manifest, read_about, read_manifest

STAGING = ".restoring"
LONGEST_TEXT = 500_000_000  # bytes of a manifest, which has a line for each file
Progress = Callable[[int], None]
Member = tuple[int, str]  # size and digest
Found = dict[str, Member]


@dataclass(frozen=True)
class RestoreSummary:
    """Summary of a restore."""

    made_at: datetime
    files: int
    without: tuple[str, ...]


def restore(file: Path, progress: Progress) -> RestoreSummary:
    """Restore data folder and database from the backup. Raises BackupFailed, changing nothing."""
    data = settings.PROVE_DATA
    refuse_full(data)
    staging = data / STAGING
    staging.mkdir(parents=True, mode=0o700)
    try:
        with open_archive(file) as tar:
            about, members, manifest = extract_backup(tar, staging, progress)
        compare(members, {name: (one.bytes, one.sha256) for name, one in manifest.members.items()})
        drop_torn_checkpoints(staging / FILES, manifest.gone)
        databases.load(staging / DATABASE)
        put_in_place(staging / FILES, data)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return RestoreSummary(about.made_at, len(members) - 2, tuple(about.without))


def refuse_full(data: Path) -> None:
    if data.exists() and (found := sorted(path.name for path in data.iterdir())):
        raise BackupFailed(f"{data} is not empty (it contains {found[0]}): set PROVE_DATA to an empty folder")
    databases.refuse_full()


def extract_backup(tar: tarfile.TarFile, staging: Path, progress: Progress) -> tuple[BackupMetadata, Found, Manifest]:
    """Extract the members to `staging`; return `about.json`, the computed digests, and the manifest."""
    about, members = None, {}
    for number, member in enumerate(tar):
        progress(number)
        if member.name == ABOUT and number == 0:
            content, members[ABOUT] = text(tar, member)
            about = understood(read_about(content))
        elif about is None:
            read_about(b"")
        elif member.name == MANIFEST:
            return about, members, read_manifest(text(tar, member)[0])
        else:
            members[member.name] = extract(tar, member, staging)
    raise BackupFailed("the backup is incomplete: it has no manifest. Use another backup")


def text(tar: tarfile.TarFile, member: tarfile.TarInfo) -> tuple[bytes, Member]:
    file = tar.extractfile(member)
    if file is None or member.size > LONGEST_TEXT:
        raise BackupFailed(f"{member.name} in the backup is invalid: it was not written by PROVE Studio")
    read = Digest(file)
    return read.read(), read.size_and_hash()


def understood(about: BackupMetadata) -> BackupMetadata:
    """Return the metadata if this version and database are compatible with it. Raises BackupFailed."""
    if (about.format, about.data_version) != (FORMAT, DATA_VERSION):
        raise BackupFailed(
            f"the backup has format {about.format} and data version {about.data_version}, this site reads "
            f"{FORMAT} and {DATA_VERSION}: restore it with the PROVE Studio version that created it"
        )
    known = MigrationLoader(None, ignore_no_migrations=True).disk_migrations
    if unknown := [f"{app}.{name}" for app, name in about.migrations if (app, name) not in known]:
        raise BackupFailed(f"a newer version created this backup (its database has {unknown[0]}): restore it with that")
    if about.database != connection.vendor:
        raise BackupFailed(
            f"the backup holds a {about.database} database, but DATABASE_URL is {connection.vendor}: "
            "restore into the same kind of database"
        )
    return about


def place(name: str, staging: Path) -> Path:
    """Return the target path of a member. Raises BackupFailed for a name outside the backup's structure."""
    path = PurePosixPath(name)
    plain = path.parts and not path.is_absolute() and ".." not in path.parts and "\\" not in name and "\0" not in name
    if not plain or not (name == DATABASE or name.startswith(FILES)) or str(path) != name:
        raise BackupFailed(f"the backup contains the invalid path {name[:100]!r}: it was not written by PROVE Studio")
    return staging / path


def extract(tar: tarfile.TarFile, member: tarfile.TarInfo, staging: Path) -> Member:
    """Extract one member, which must be a regular file that does not exist yet. Returns its size and digest."""
    path = place(member.name, staging)
    file = tar.extractfile(member) if member.isreg() else None
    if file is None:
        raise BackupFailed(f"{member.name} in the backup is not a regular file: it was not written by PROVE Studio")
    if member.size > shutil.disk_usage(staging).free:
        raise BackupFailed(f"there is no room for {member.name} ({member.size / 1e9:.1f} GB): make room and try again")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    read = Digest(file)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        raise BackupFailed(f"the backup contains {member.name} twice: it was not written by PROVE Studio") from None
    with os.fdopen(descriptor, "wb") as target:
        while chunk := read.read(CHUNK):
            target.write(chunk)
        os.fchmod(target.fileno(), member.mode & 0o700 | 0o600)
        os.utime(target.fileno(), (member.mtime, member.mtime))
    return read.size_and_hash()


def compare(found: Found, recorded: Found) -> None:
    """Raise BackupFailed unless all members are present and match the manifest."""
    for name in sorted(found.keys() | recorded.keys()):
        if found.get(name) != recorded.get(name):
            raise BackupFailed(f"{name} in the backup does not match its checksum: it is damaged. Use another backup")


def drop_torn_checkpoints(files: Path, gone: list[str]) -> None:
    """Delete checkpoints that were being removed while the backup was made, because they are incomplete."""
    for name in gone:
        if match := CHECKPOINT.match(str(PurePosixPath(name).parent)):
            shutil.rmtree(files / match[0], ignore_errors=True)


def put_in_place(files: Path, data: Path) -> None:
    with suppress(FileNotFoundError):  # a backup without files
        for path in sorted(files.iterdir()):
            path.rename(data / path.name)
