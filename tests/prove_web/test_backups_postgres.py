"""Backups of a site on PostgreSQL: a dump of one database restores the same site into another, empty database."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from .postgres import BIN, PASSWORD, ROOT, needs_postgres, sql
from .test_backups import BEGIN, PAGES

pytestmark = [needs_postgres, pytest.mark.long]


def manage(server: Path, database: str, data: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a management command on this database and data folder."""
    url = f"postgres://prove:{PASSWORD}@{quote(str(server), safe='')}/{database}"
    known = {**os.environ, "PROVE_DATA": str(data), "PYTHONPATH": str(ROOT), "DATABASE_URL": url}
    known["PATH"] = f"{BIN}:{known['PATH']}"
    return subprocess.run([sys.executable, "manage.py", *words], cwd=ROOT, env=known, capture_output=True, text=True)


def shell(server: Path, database: str, data: Path, code: str) -> str:
    done = manage(server, database, data, "shell", "--no-imports", "-c", code)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_a_site_on_postgresql_comes_back_with_the_same_pages_and_into_an_empty_database_alone(
    postgres: Path, tmp_path: Path
) -> None:
    for name in ("before", "after"):
        assert sql(postgres, f"CREATE DATABASE {name}") == 0
    here, back, file = tmp_path / "here", tmp_path / "back", tmp_path / "site.tar.zst"
    pages = json.loads(shell(postgres, "before", here, BEGIN + PAGES))
    made = manage(postgres, "before", here, "backup", str(file))
    assert made.returncode == 0 and PASSWORD not in made.stdout + made.stderr, made.stderr
    full = manage(postgres, "before", back, "restore", str(file))
    assert full.returncode != 0 and "has tables: restore into an empty database" in full.stderr
    restored = manage(postgres, "after", back, "restore", str(file))
    assert restored.returncode == 0, restored.stderr
    assert json.loads(shell(postgres, "after", back, PAGES)) == pages
