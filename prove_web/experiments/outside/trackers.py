"""Conversion of runs from and to other trackers' files in a child process (see training_worker/trackers)."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.db import transaction

from prove_web.accounts.models import Project, User
from prove_web.live.models import Job, State
from training_worker.core import sandbox
from training_worker.monitoring.event_data import without_malformed
from training_worker.monitoring.metrics.names import sanitize_name
from training_worker.trackers.tracked_run import SOURCES, TrackedRun, from_json

from ..metric_series import number
from ..models import Run, RunKind
from ..run_metadata import LONGEST_NOTES, LONGEST_TAG, MOST_TAGS
from . import TRACKERS as FORMATS
from .create import ExternalRunRequest, make
from .ingest import ELAPSED, MetricPoint, end, store_metric_points
from .limits import InvalidRunData, storable

LONGEST = 120  # timeout of the child process in seconds
LARGEST_ANSWER = 256 << 20  # bytes of the child's output, which takes about ten times as much memory here
BATCH = 1_000  # points per insert
ENDS = {state.value: state for state in (State.DONE, State.FAILED, State.STOPPED)}


def read_runs(format: str, path: Path, largest: int = LARGEST_ANSWER) -> list[TrackedRun]:
    """Read the runs from a tracker's files. Raises InvalidRunData."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as answer, tempfile.TemporaryDirectory() as folder:
        child(["read", format, str(path), folder], stdout=answer)
        if answer.tell() > largest:
            raise InvalidRunData("The runs are too large to be read together. Remove some.", "file")
        answer.seek(0)
        return [from_json(line) for line in answer]


def write_run(run: Run, format: str, folder: Path) -> None:
    """Write a run to a folder in a tracker's format. Raises InvalidRunData."""
    child(["write", format, str(folder)], input=build_tracked_run(run).as_json())


def child(words: Sequence[str], **streams: Any) -> None:
    command = [sys.executable, "-m", "training_worker.trackers", *words]
    streams = {"stdout": subprocess.DEVNULL, **streams}
    try:
        done = subprocess.run(
            command,
            env=sandbox.environment(),
            stderr=subprocess.PIPE,
            text=True,
            timeout=LONGEST,
            check=False,
            **streams,
        )
    except subprocess.TimeoutExpired:
        raise InvalidRunData(f"Timed out after {LONGEST} seconds. Use fewer runs at a time.", "file") from None
    if done.returncode:
        why = done.stderr.strip().splitlines() if done.returncode == 2 else []
        text = why[-1][:500] if why else f"The file cannot be read as {FORMATS[words[1]]}: the reader crashed."
        raise InvalidRunData(text, "file")


def build_tracked_run(run: Run) -> TrackedRun:
    """Return a run in the trackers' common form; values that are not finite numbers are omitted."""
    began = run.job.started_at or run.created_at
    rows = {
        source: tuple(
            {"step": step, "time": began.timestamp() + (metrics.get(ELAPSED) or 0.0), "metrics": numbers(metrics)}
            for step, metrics in table.values_list("step", "metrics")
        )
        for source, table in (("points", run.points.all()), ("held_out", run.held_out.all()))
    }
    state = run.job.state if run.job.state in ENDS else "done"
    config = run.config.get("given", run.config)
    result = dict(run.job.result or {}) if run.kind == RunKind.OUTSIDE else {}
    return TrackedRun(run.name, config, tuple(run.tags), state, rows["points"], rows["held_out"], run.notes, result)


def numbers(metrics: dict[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in metrics.items() if number(value)}


def bring(project: Project, user: User | None, one: TrackedRun, format: str) -> tuple[Run, bool]:
    """Import a tracker's run; return it and whether it is new, as identical content maps to the same run.

    Raises InvalidRunData.
    """
    if not isinstance(one.name, str) or not isinstance(one.config, dict) or not storable(one):
        raise InvalidRunData("The run data in the file is damaged.", "file")
    key = f"{format}:{sha256(one.as_json().encode()).hexdigest()}"
    times = {row["time"] for source in SOURCES for row in getattr(one, source)}
    began = moment(min(times, default=0.0)) if len(times) > 1 else None
    tags = [text for tag in one.tags[:MOST_TAGS] if (text := sanitize_name(str(tag))[:LONGEST_TAG].strip())]
    name = " ".join("".join(each if each.isprintable() else " " for each in one.name).split())[:80].strip()
    notes = "\n\n".join(filter(None, [one.notes, *one.remarks]))[:LONGEST_NOTES]
    wanted = ExternalRunRequest(
        name or f"From {FORMATS[format]}", key, one.config, tags, notes, started_at=began, silent_after_s=3600
    )
    with transaction.atomic():
        run, new = make(project, user, wanted)
        if new:
            fill(run, one, began is not None and not has_elapsed_metric(one))
            if began is not None:
                Job.objects.filter(pk=run.job_id).update(ended_at=moment(max(times)))
            run.job.refresh_from_db()
    return run, new


def has_elapsed_metric(one: TrackedRun) -> bool:
    """Return whether the run logged elapsed seconds itself."""
    return any(ELAPSED in row["metrics"] for row in one.points)


def fill(run: Run, one: TrackedRun, timed: bool) -> None:
    for source in SOURCES:
        rows = getattr(one, source)
        for at in range(0, len(rows), BATCH):
            points = [
                MetricPoint(row["step"], row["metrics"], moment(row["time"]) if timed else None)
                for row in rows[at:][:BATCH]
            ]
            store_metric_points(run, {source: points})
    end(run, ENDS.get(one.state, State.DONE), result=without_malformed(one.result))


def moment(seconds: float) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        raise InvalidRunData("The file contains an invalid timestamp.", "file") from None
