"""How long pages take under load: in a child, for it needs the site."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Page:
    """Milliseconds from a request to the whole answer on loopback, over so many pages of a kind."""

    pages: int
    median: float
    p95: float


def measure() -> dict[str, Page] | str:
    """By kind of page; what went wrong in a line, where something did."""
    done = subprocess.run([sys.executable, "manage.py", "load_pages"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit status {done.returncode}"
    return {name: Page(**told) for name, told in json.loads(done.stdout.splitlines()[-1]).items()}
