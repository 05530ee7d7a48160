"""Disk quota for the site's own large files: checked before anything large is accepted or created."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings

from training_worker.core import disk_quota
from training_worker.core.disk_quota import NoDiskSpace


def require_disk_space(what: str, size: int = 0) -> None:
    """Raise NoDiskSpace if these bytes in the data folder would use up the reserve of its disk."""
    disk_quota.require_disk_space(what, size, Path(settings.PROVE_DATA), settings.FREE_GB)


def get_writable_bytes() -> int:
    """Return the bytes that may be written before only the reserve of the disk is left."""
    return max(0, int(disk_quota.get_free_bytes(Path(settings.PROVE_DATA)) - settings.FREE_GB * disk_quota.GB))


def is_disk_low() -> bool:
    """Return whether only the reserve of the disk is left."""
    try:
        require_disk_space("it")
    except NoDiskSpace:
        return True
    return False


def shares_disk(folder: Path) -> bool:
    """Return whether a folder is on the disk of the data folder."""
    return folder.stat().st_dev == Path(settings.PROVE_DATA).stat().st_dev


def size_of(folders: Iterable[Path]) -> int:
    """Return the bytes of all files in some folders; a file that vanishes counts as 0, and a link as itself."""
    return sum(
        bytes_of(os.path.join(folder, name))
        for place in folders
        for folder, _, names in os.walk(place)
        for name in names
    )


def bytes_of(file: str | Path) -> int:
    try:
        return os.lstat(file).st_size
    except OSError:
        return 0
