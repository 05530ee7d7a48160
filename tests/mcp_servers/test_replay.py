"""Recorded calls give the same replies and digests in any process, under any hash seed, on either Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from test_world import wander

from mcp_servers.catalogue import SERVERS
from mcp_servers.world import World

ROOT = Path(__file__).parents[2]
WORLDS = [(seed, size) for size in ("small", "default") for seed in (0, 1, 2, 3, 1_000_000_000)]
CHILD = """
import json, sys
from mcp_servers.world import replay
told = []
for seed, servers, size, calls in json.load(sys.stdin):
    replies, digest = replay(seed, tuple(servers), size, [tuple(call) for call in calls])
    told.append([digest, [reply.text for reply in replies]])
json.dump(told, sys.stdout)
"""


@cache
def recorded() -> tuple[str, list[list[object]]]:
    """Return walks in several worlds as a child process reads them, and their results here."""
    work, results = [], []
    for seed, size in WORLDS:
        world = World.open(seed, tuple(SERVERS), size)
        calls, replies = wander(world, 60)
        work.append((seed, list(SERVERS), size, calls))
        results.append([world.digest(), [reply.text for reply in replies]])
    return json.dumps(work), results


def replayed_by(python: str, hash_seed: str) -> list[list[object]]:
    """Return the results of the same calls in another process."""
    work, _ = recorded()
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    child = subprocess.run(
        [python, "-c", CHILD], input=work, capture_output=True, text=True, env=environment, cwd=ROOT, check=False
    )
    assert child.returncode == 0, child.stderr
    return json.loads(child.stdout)


@pytest.mark.long
def test_another_process_with_another_hash_seed_tells_the_same():
    assert replayed_by(sys.executable, "4711") == recorded()[1]


@pytest.mark.long
def test_the_other_python_tells_the_same():
    assert replayed_by(other_python(), "1") == recorded()[1]


def other_python() -> str:
    """The other of Python 3.11 and 3.12, with the packages the servers need; skips when there is none."""
    version = "3.12" if sys.version_info < (3, 12) else "3.11"
    missing = ""
    for python in candidates(version):
        check = "import sys; print('%d.%d' % sys.version_info[:2]); import pydantic, dateutil"
        answer = subprocess.run([python, "-c", check], capture_output=True, text=True, cwd="/", check=False)
        if answer.stdout.strip() != version:
            continue
        if answer.returncode == 0:
            return python
        missing = missing or f"{python} lacks a package: {answer.stderr.strip().splitlines()[-1]}"
    pytest.skip(missing or f"there is no Python {version}; install it with pydantic and python-dateutil")


def candidates(version: str) -> Iterator[str]:
    """Where a Python of this version may be."""
    yield from filter(None, [shutil.which(f"python{version}")])
    for pattern in (f".pyenv/versions/{version}*/bin/python", f".local/share/uv/python/*-{version}*/bin/python"):
        yield from map(str, sorted(Path.home().glob(pattern)))
