"""A PostgreSQL server for tests, where its programs are installed: on a socket in a folder of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "hush"


def programs() -> Path | None:
    """Return the folder of the newest PostgreSQL of this machine."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    beside = shutil.which("initdb")
    return found[-1].parent if found else Path(beside).parent if beside else None


BIN = programs()
needs_postgres = pytest.mark.skipif(BIN is None, reason="PostgreSQL's server is not installed")


def as_somebody() -> dict[str, object]:
    """Return the user to run PostgreSQL as, because it refuses to run as root."""
    return {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}


@pytest.fixture(scope="module")
def postgres() -> Iterator[Path]:
    """The folder of the socket of a PostgreSQL server."""
    with server() as folder:
        yield folder


@contextmanager
def server() -> Iterator[Path]:
    """Run a PostgreSQL server that listens on a socket only; give the folder of the socket."""
    assert BIN
    with tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as name:
        folder, data = Path(name), Path(name, "data")
        (folder / "password").write_text(PASSWORD)
        for path in (folder, folder / "password"):
            if os.geteuid() == 0:
                shutil.chown(path, "postgres", "postgres")
        how = ["--auth=scram-sha-256", f"--pwfile={folder / 'password'}", "--username=prove", "--no-sync"]
        options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": name, **as_somebody()}
        subprocess.run([BIN / "initdb", f"--pgdata={data}", *how], check=True, **options)  # type: ignore[call-overload]
        quick = [
            "-c",
            "fsync=off",
            "-c",
            "max_connections=200",
            "-c",
            "listen_addresses=",
            "-c",
            f"unix_socket_directories={folder}",
        ]
        running = subprocess.Popen([BIN / "postgres", "-D", str(data), *quick], **options)  # type: ignore[call-overload]
        eventually(lambda: (folder / ".s.PGSQL.5432").exists(), "the server's socket")
        eventually(lambda: sql(folder, "SELECT 1") == 0, "an answer of the server")
        try:
            yield folder
        finally:
            running.terminate()
            running.wait()


def sql(folder: Path, command: str) -> int:
    assert BIN
    words = [BIN / "psql", f"--host={folder}", "--username=prove", "--dbname=postgres", "-c", command]
    known = {**os.environ, "PGPASSWORD": PASSWORD}
    return subprocess.run(words, env=known, capture_output=True).returncode
