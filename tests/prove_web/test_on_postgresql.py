"""What only PostgreSQL can show, in a separate test run there: two transactions at once, its plans, its JSON."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from .postgres import BIN, PASSWORD, ROOT, needs_postgres, sql

pytestmark = [needs_postgres, pytest.mark.long]
THERE = tuple(f"tests/prove_web/test_{name}.py" for name in ("two_at_once", "plans", "ordered_json"))


def test_two_people_at_once_lose_nothing_and_lists_are_read_from_an_index(postgres: Path, tmp_path: Path) -> None:
    assert BIN and sql(postgres, "CREATE DATABASE two") == 0
    url = f"postgres://prove:{PASSWORD}@{quote(str(postgres), safe='')}/two"
    known = {**os.environ, "PROVE_DATA": str(tmp_path), "DATABASE_URL": url, "PROVE_TEST_DATABASE": url}
    words = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-p", "no:cacheprovider", *THERE]
    done = subprocess.run(words, cwd=ROOT, env=known, capture_output=True, text=True)
    assert done.returncode == 0 and "skipped" not in done.stdout, done.stdout[-4_000:] + done.stderr[-2_000:]
