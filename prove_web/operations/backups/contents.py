"""Data folder contents in a backup: everything except regenerated files and parts the user excludes."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

# The broker's messages are resent from the database; logs and caches contain nothing that pages show.
MADE_ANEW = frozenset({"cache", "logs", "valkey", "serve.lock"})
DATABASE_SUFFIXES = ("", "-wal", "-shm", "-journal")
CHECKPOINT = re.compile(r"jobs/[^/]+/out/checkpoints/[^/]+")
PARTS = {
    "rollouts": re.compile(r"jobs/[^/]+/out/rollouts/"),
    "checkpoints": re.compile(CHECKPOINT.pattern + "/"),
}


def files(data: Path, database: Path | None, without: frozenset[str]) -> Iterator[tuple[str, Path]]:
    """Yield name and path of every file to back up, in order.

    Links and sockets are skipped, as they cannot be restored.
    """
    ours = {Path(f"{database}{suffix}") for suffix in DATABASE_SUFFIXES} if database else set()
    for folder, folders, names in os.walk(data):
        here = Path(folder)
        top = here == data
        folders[:] = sorted(name for name in folders if not (top and name in MADE_ANEW))
        for name in sorted(names):
            path = here / name
            relative = path.relative_to(data).as_posix()
            if (top and name in MADE_ANEW) or path in ours or name.endswith(".partial") or special(path):
                continue
            if not any(PARTS[part].match(relative) for part in without):
                yield relative, path


def special(path: Path) -> bool:
    """Return whether the path is a link, socket or pipe; False if it was just removed."""
    try:
        return not stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def links(data: Path) -> list[str]:
    """Return the symbolic links in the data folder, which backups omit."""
    found = []
    for folder, folders, names in os.walk(data):
        found += [
            str(Path(folder, name).relative_to(data)) for name in folders + names if Path(folder, name).is_symlink()
        ]
    return sorted(found)
