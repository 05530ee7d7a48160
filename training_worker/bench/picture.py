"""The frame times of panning the graph in a real browser, from a child process that runs the site."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class PanMeasurement:
    """The size of the drawn graph, and the milliseconds from one frame of a pan to the next."""

    edges: int
    lines: int
    median: float
    p95: float


def measure(graph: Path) -> PanMeasurement | str:
    """Return figures for the graph stored in a folder; without a browser, what to install."""
    command = [sys.executable, "manage.py", "pan_graph", "--graph", str(graph.resolve())]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit status {done.returncode}"
    return PanMeasurement(**json.loads(done.stdout.splitlines()[-1]))
