"""Backups of a site on PostgreSQL: what pg_dump took of one server is the same site on another, empty database."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.waiting import eventually

from .test_backups import BEGIN, PAGES

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "hush"


def programs() -> Path | None:
    """The newest PostgreSQL of this machine."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    beside = shutil.which("initdb")
    return found[-1].parent if found else Path(beside).parent if beside else None


BIN = programs()
pytestmark = pytest.mark.skipif(BIN is None, reason="PostgreSQL's server is not installed")


def as_somebody() -> dict[str, object]:
    """PostgreSQL refuses to run as root."""
    return {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}


@pytest.fixture(scope="module")
def server() -> Iterator[Path]:
    """A server on a socket alone; the folder of its socket."""
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
        quick = ["-c", "fsync=off", "-c", "listen_addresses=", "-c", f"unix_socket_directories={folder}"]
        running = subprocess.Popen([BIN / "postgres", "-D", str(data), *quick], **options)  # type: ignore[call-overload]
        eventually(lambda: (folder / ".s.PGSQL.5432").exists(), "the server's socket")
        eventually(lambda: sql(folder, "SELECT 1") == 0, "an answer of the server")
        yield folder
        running.terminate()
        running.wait()


def sql(folder: Path, command: str) -> int:
    assert BIN
    words = [BIN / "psql", f"--host={folder}", "--username=prove", "--dbname=postgres", "-c", command]
    known = {**os.environ, "PGPASSWORD": PASSWORD}
    return subprocess.run(words, env=known, capture_output=True).returncode


def manage(server: Path, database: str, data: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """One line of a person who runs the site on this database."""
    url = f"postgres://prove:{PASSWORD}@{quote(str(server), safe='')}/{database}"
    known = {**os.environ, "PROVE_DATA": str(data), "PYTHONPATH": str(ROOT), "DATABASE_URL": url}
    known["PATH"] = f"{BIN}:{known['PATH']}"
    return subprocess.run([sys.executable, "manage.py", *words], cwd=ROOT, env=known, capture_output=True, text=True)


def shell(server: Path, database: str, data: Path, code: str) -> str:
    done = manage(server, database, data, "shell", "--no-imports", "-c", code)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_a_site_on_postgresql_comes_back_with_the_same_pages_and_into_an_empty_database_alone(
    server: Path, tmp_path: Path
) -> None:
    for name in ("before", "after"):
        assert sql(server, f"CREATE DATABASE {name}") == 0
    here, back, file = tmp_path / "here", tmp_path / "back", tmp_path / "site.tar.zst"
    shown = json.loads(shell(server, "before", here, BEGIN + PAGES))
    made = manage(server, "before", here, "backup", str(file))
    assert made.returncode == 0 and PASSWORD not in made.stdout + made.stderr, made.stderr
    full = manage(server, "before", back, "restore", str(file))
    assert full.returncode != 0 and "has tables: restore into an empty one" in full.stderr
    restored = manage(server, "after", back, "restore", str(file))
    assert restored.returncode == 0, restored.stderr
    assert json.loads(shell(server, "after", back, PAGES)) == shown
