"""The rule of space where the site itself writes: asked before anything large is taken or made."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings

from training_worker import disk_quota
from training_worker.disk_quota import NoRoom


def room_for(what: str, size: int = 0) -> None:
    """Raises NoRoom where so many bytes in the data folder would take the last of its disk."""
    disk_quota.room_for(what, size, Path(settings.PROVE_DATA), settings.FREE_GB)


def room() -> int:
    """Bytes that may be written before only the last of the disk is left."""
    return max(0, int(disk_quota.free(Path(settings.PROVE_DATA)) - settings.FREE_GB * disk_quota.GB))


def low() -> bool:
    """Whether there is no room for anything."""
    try:
        room_for("it")
    except NoRoom:
        return True
    return False


def shares_disk(folder: Path) -> bool:
    """Whether what is written into a folder takes from the disk of the data folder."""
    return folder.stat().st_dev == Path(settings.PROVE_DATA).stat().st_dev


def size_of(folders: Iterable[Path]) -> int:
    """Bytes of all files in some folders; one that goes meanwhile counts as nothing, and a link as itself."""
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
