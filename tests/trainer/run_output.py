"""The output of a run: its metrics, also without those of the clock and the machine, and its stored rollouts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from training_worker.core.trajectory import Rollout
from training_worker.monitoring.metrics import METRICS
from training_worker.store.folder import RolloutFolder, read_rollouts

TIMES = {metric.name for metric in METRICS if metric.group in ("Time", "Machine")} | {"wasted_s"}


def lines_of(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def without_times(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in line.items() if name not in TIMES} for line in lines]


def rollouts_in(out: Path) -> list[list[Rollout]]:
    """Return the rollouts of each step, in order."""
    store = RolloutFolder(out / "rollouts")
    return [list(read_rollouts(store, [step], transcripts=True)) for step in store.steps()]
