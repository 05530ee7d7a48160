"""Common form of a tracker's run: its name, its settings, and its metrics by step and time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from training_worker.core.json_numbers import encode_nonfinite
from training_worker.core.trajectory import UnreadableData
from training_worker.monitoring.metrics.names import sanitize_name

Source = Literal["points", "held_out"]
SOURCES: tuple[Source, ...] = ("points", "held_out")
HELD_OUT = "held_out/"  # prefix of a held-out metric in a tracker that has a single list of metrics
MOST_STEPS = 200_000
MOST_RUNS = 50  # in one folder
SELDOM = ("notes", "result", "remarks")
Value = tuple[str, int, float, float | None]  # a metric by its name, with step, seconds since 1970, and value


class NotRead(UnreadableData, ValueError):
    """Error of a file that can't be read in its declared format; the message says why."""


@dataclass(frozen=True)
class TrackedRun:
    """A run; `points` and `held_out` are lists of {step, time, metrics}, in order; `time` is in seconds since 1970.

    `result` has the final values, and `remarks` say what of the tracker's file is missing here.
    """

    name: str
    config: dict[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    state: str = "done"
    points: tuple[dict[str, Any], ...] = ()
    held_out: tuple[dict[str, Any], ...] = ()
    notes: str = ""
    result: dict[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def values(self) -> Iterator[tuple[str, int, float, float]]:
        """Yield every number by step; held-out metrics have the prefix HELD_OUT."""
        rows = [("", one) for one in self.points] + [(HELD_OUT, one) for one in self.held_out]
        for before, one in sorted(rows, key=lambda row: (row[1]["step"], row[0])):
            for name, value in one["metrics"].items():
                if value is not None:
                    yield f"{before}{name}", one["step"], one["time"], float(value)

    def as_json(self) -> str:
        """Return JSON that is equal for equal runs; rare fields are omitted if empty, so older texts stay equal too."""
        fields = {name: value for name, value in asdict(self).items() if value or name not in SELDOM}
        return json.dumps(fields, allow_nan=False)


def from_json(text: str) -> TrackedRun:
    fields = json.loads(text)
    return TrackedRun(
        **fields | {name: tuple(fields[name]) for name in ("tags", "remarks", *SOURCES) if name in fields}
    )


def group_into_points(values: Iterable[Value]) -> dict[Source, tuple[dict[str, Any], ...]]:
    """Group values into points; of two at a step the later counts. NaN and infinity become words. Raises NotRead."""
    found: dict[Source, dict[int, dict[str, Any]]] = {"points": {}, "held_out": {}}
    for name, step, time, value in values:
        source: Source = "held_out" if name.startswith(HELD_OUT) else "points"
        called = sanitize_name(name.removeprefix(HELD_OUT))
        if not called or not 0 <= step < 2**31:
            continue
        point = found[source].setdefault(step, {"step": step, "time": time, "metrics": {}})
        point["time"] = max(point["time"], time)
        point["metrics"][called] = encode_nonfinite(value)
        if len(found[source]) > MOST_STEPS:
            raise NotRead(f"It has more than {MOST_STEPS:,} steps, the limit of a run.")
    return {source: tuple(rows[step] for step in sorted(rows)) for source, rows in found.items()}


def map_trainer_names(names: Iterable[str]) -> dict[str, str]:
    """Map the names that transformers' trainers write to those that they log: train/loss to loss, eval/ to held-out."""
    known = list(names)
    if not known or not all(name.startswith(("train/", "eval/")) for name in known):
        return {name: name for name in known}
    return {
        name: f"{HELD_OUT}{name.removeprefix('eval/')}" if name.startswith("eval/") else name.removeprefix("train/")
        for name in known
    }
