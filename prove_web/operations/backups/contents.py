"""What of the data folder a backup keeps: all of it but what is made anew, and what one chooses to leave out."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

# The broker's messages are said again from the database; logs and caches tell nothing that a page shows.
MADE_ANEW = frozenset({"cache", "logs", "valkey", "serve.lock"})
DATABASE_SUFFIXES = ("", "-wal", "-shm", "-journal")
CHECKPOINT = re.compile(r"jobs/[^/]+/out/checkpoints/[^/]+")
PARTS = {
    "rollouts": re.compile(r"jobs/[^/]+/out/rollouts/"),
    "checkpoints": re.compile(CHECKPOINT.pattern + "/"),
}


def files(data: Path, database: Path | None, without: frozenset[str]) -> Iterator[tuple[str, Path]]:
    """Name and place of every file to keep, in order; neither links nor sockets, which are nothing to put back."""
    ours = {Path(f"{database}{suffix}") for suffix in DATABASE_SUFFIXES} if database else set()
    for folder, folders, names in os.walk(data):
        here = Path(folder)
        top = here == data
        folders[:] = sorted(name for name in folders if not (top and name in MADE_ANEW))
        for name in sorted(names):
            path = here / name
            told = path.relative_to(data).as_posix()
            if (top and name in MADE_ANEW) or path in ours or name.endswith(".partial") or special(path):
                continue
            if not any(PARTS[part].match(told) for part in without):
                yield told, path


def special(path: Path) -> bool:
    """Whether it is a link, a socket or a pipe; what was just removed is none."""
    try:
        return not stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def links(data: Path) -> list[str]:
    """The links in the data folder, which a backup does not keep."""
    found = []
    for folder, folders, names in os.walk(data):
        found += [
            str(Path(folder, name).relative_to(data)) for name in folders + names if Path(folder, name).is_symlink()
        ]
    return sorted(found)
