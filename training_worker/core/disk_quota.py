"""The disk quota: every writer of large files leaves a reserve of the disk to the site itself.

PROVE_FREE_GB sets the reserve, in gigabytes of 10**9 bytes; a worker gets it from its environment.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

VARIABLE, FREE_GB = "PROVE_FREE_GB", 2.0
GB = 10**9  # bytes
DO = "Delete unused runs and datasets, or ask the site administrator to free disk space (PROVE_FREE_GB)."


class NoDiskSpace(Exception):
    """A write that does not fit; the message says what is free, what it needs and what to do."""


def get_reserved_gb() -> float:
    """Return the gigabytes of the disk that jobs of this worker leave free."""
    with suppress(ValueError):
        return max(0.0, float(os.environ.get(VARIABLE) or FREE_GB))
    return FREE_GB


def get_free_bytes(folder: Path) -> int:
    """Return the free bytes on the disk of a folder, which need not exist yet. Raises OSError."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def require_disk_space(what: str, size: int, folder: Path, reserve: float) -> None:
    """Raise NoDiskSpace if `size` bytes in this folder would leave less than `reserve` gigabytes of its disk."""
    left = get_free_bytes(folder)
    if left - size < reserve * GB:
        needs = f"it needs about {amount(size)}, and " if size else ""
        raise NoDiskSpace(
            f"Not enough disk space for {what}: {amount(left)} are free where its files are stored, {needs}"
            f"{amount(reserve * GB)} are reserved for the site itself. {DO}"
        )


def amount(size: float) -> str:
    return f"{size / GB:,.1f} GB" if size >= GB / 10 else f"{size / 1e6:,.1f} MB"
