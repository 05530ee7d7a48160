"""How long pages take under load, and a call by hand in a browser: in a child, for both need the site."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Page:
    """Milliseconds from a request to the whole answer on loopback, over so many pages of a kind.

    Those with `server_` are the server's own: from a request's arrival to the head of its answer.
    """

    pages: int
    median: float
    p95: float
    server_median: float
    server_p95: float


@dataclass(frozen=True)
class Called:
    """Milliseconds from Ctrl+Enter to the result of a call by hand, in a browser on loopback."""

    calls: int
    median: float
    p95: float


def measure() -> dict[str, Page] | str:
    """By kind of page; what went wrong in a line, where something did."""
    found = child("load_pages")
    return found if isinstance(found, str) else {name: Page(**told) for name, told in found.items()}


def by_hand() -> Called | str:
    """A call by hand; what went wrong in a line, where something did."""
    found = child("time_call")
    return found if isinstance(found, str) else Called(**found)


def child(*command: str) -> dict[str, Any] | str:
    """What a command of the site tells as JSON; else its last words."""
    done = subprocess.run([sys.executable, "manage.py", *command], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit status {done.returncode}"
    return dict(json.loads(done.stdout.splitlines()[-1]))
