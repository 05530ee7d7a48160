"""Pages are timed under load on a site of their own, with sessions that hold real results of their calls."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.long
def test_pages_are_timed_on_a_site_of_their_own() -> None:
    command = [sys.executable, "manage.py", "load_pages", "--sessions", "50", "--people", "8", "--seconds", "3"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    timings = json.loads(done.stdout)
    assert timings.keys() <= {"catalogue", "tool", "inspector step", "sessions"}
    assert sum(one["pages"] for one in timings.values()) >= 8
    assert all(0 < one["server_median"] <= one["median"] for one in timings.values())
