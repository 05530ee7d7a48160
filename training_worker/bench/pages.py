"""Page times under load, and the time of a manual call in a browser, from a child process that runs the site."""

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
    """Milliseconds from a request to the complete response on loopback, over `pages` pages of one kind.

    Those with `server_` are the server's own: from a request's arrival to the headers of its response.
    """

    pages: int
    median: float
    p95: float
    server_median: float
    server_p95: float


@dataclass(frozen=True)
class CallLatency:
    """Milliseconds from Ctrl+Enter to the result of a manual call, in a browser on loopback."""

    calls: int
    median: float
    p95: float


def measure() -> dict[str, Page] | str:
    """Return page times by kind of page, or a one-line error."""
    found = child("load_pages")
    return found if isinstance(found, str) else {name: Page(**fields) for name, fields in found.items()}


def by_hand() -> CallLatency | str:
    """Return the time of a manual call, or a one-line error."""
    found = child("time_call")
    return found if isinstance(found, str) else CallLatency(**found)


def child(*command: str) -> dict[str, Any] | str:
    """Return the JSON output of a site command, or its last error line."""
    done = subprocess.run([sys.executable, "manage.py", *command], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit status {done.returncode}"
    return dict(json.loads(done.stdout.splitlines()[-1]))
