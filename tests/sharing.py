"""What the processes of one test run share: its folder, folders that the first to come fills, and a disk cache."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from pathlib import Path

import psutil

from training_worker.core.stage_cache import SYNTHESIS as FOLDERS

ROOT = Path(__file__).resolve().parents[1]
PREFIX, OWNER = "pv-", "owner"  # short: the path of a socket has a limit
RUN = "PROVE_TEST_FOLDER"  # set for all processes of the run: the folder that holds its temporary files
CODE = (*(f"training_worker/{name}" for name in FOLDERS), "mcp_servers", "requirements.txt")  # what data are made by
GRAPH = ("graph", CODE)  # the cached folder of graphs
SEEN_BY_PYTEST = ROOT / ".pytest_cache" / "prove"


def run_folder() -> Path:
    """Return the folder of this test run, in which it and all its children make their temporary files.

    The first process of the run makes it, and removes the folders of runs whose first process is gone.
    """
    if known := os.environ.get(RUN):
        return Path(known)
    there = Path(tempfile.gettempdir())
    remove_orphans(there)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=there))
    folder.chmod(0o755)  # PostgreSQL runs as another user
    (folder / OWNER).write_text(str(os.getpid()))
    os.environ[RUN] = os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None  # read again from TMPDIR
    return folder


def remove_orphans(there: Path) -> None:
    """Remove what runs left that were killed."""
    for folder in there.glob(f"{PREFIX}*"):
        try:
            owner = int((folder / OWNER).read_text())
        except (OSError, ValueError):
            continue
        if not psutil.pid_exists(owner):
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def shared_folder(name: str, base: Path | None = None) -> Iterator[Path]:
    """The folder of this name, while no other process has it."""
    folder = (base or run_folder()) / name
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


@contextmanager
def cached_folder(name: str, sources: Iterable[str]) -> Iterator[Path]:
    """A folder that later test runs find again as long as these sources are the same, while no other process has it.

    `sources` are files and folders of the repository; a changed byte in one of the files gives an empty folder.
    """
    SEEN_BY_PYTEST.mkdir(parents=True, exist_ok=True)
    current = f"{name}-{digest_of(tuple(sources))}"
    with shared_folder(current, SEEN_BY_PYTEST) as folder:
        for other in SEEN_BY_PYTEST.glob(f"{name}-*"):
            if other.name != current:
                shutil.rmtree(other, ignore_errors=True)
        yield folder


@contextmanager
def checked(name: str, sources: Iterable[str]) -> Iterator[bool]:
    """Yield whether a check that depends on these sources alone has passed before; it has when the block ends well."""
    with cached_folder(f"checked-{name}", sources) as folder:
        done = folder / "done"
        yield done.exists()
        done.touch()


@cache
def digest_of(sources: tuple[str, ...]) -> str:
    """Return a digest of the names and bytes of these files of the repository, and of all in these folders."""
    digest = blake2b(digest_size=8)
    for source in sources:
        for path in sorted([ROOT / source, *(ROOT / source).rglob("*")]):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"{path.relative_to(ROOT)}\0".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()
