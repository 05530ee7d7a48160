"""One run as trackers keep it: what it is called, its settings, and what was measured when."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from training_worker.prove.json_numbers import spelled
from training_worker.prove.metrics.names import fitted
from training_worker.prove.trajectory import UnreadableData

Source = Literal["points", "held_out"]
SOURCES: tuple[Source, ...] = ("points", "held_out")
HELD_OUT = "held_out/"  # begins the name of a held-out metric in a tracker that has one list of them
MOST_STEPS = 200_000
MOST_RUNS = 50  # in one folder
SELDOM = ("notes", "result", "remarks")
Value = tuple[str, int, float, float | None]  # a metric by its name, with step, seconds since 1970, and value


class NotRead(UnreadableData, ValueError):
    """A file that cannot be read as what it is said to be; the message says why."""


@dataclass(frozen=True)
class TrackedRun:
    """`points` and `held_out` are lists of {step, time, metrics}, in order; `time` is in seconds since 1970.

    `result` is what the run came to, and `remarks` say what of the tracker's file is not in it.
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
        """Every number that there is, by step; held-out ones by a name that says so."""
        rows = [("", one) for one in self.points] + [(HELD_OUT, one) for one in self.held_out]
        for before, one in sorted(rows, key=lambda row: (row[1]["step"], row[0])):
            for name, value in one["metrics"].items():
                if value is not None:
                    yield f"{before}{name}", one["step"], one["time"], float(value)

    def as_json(self) -> str:
        """Equal runs give equal text, and so they always did: what few runs have is there only where they have it."""
        told = {name: value for name, value in asdict(self).items() if value or name not in SELDOM}
        return json.dumps(told, allow_nan=False)


def from_json(text: str) -> TrackedRun:
    told = json.loads(text)
    return TrackedRun(**told | {name: tuple(told[name]) for name in ("tags", "remarks", *SOURCES) if name in told})


def gathered(values: Iterable[Value]) -> dict[Source, tuple[dict[str, Any], ...]]:
    """Points of single values; of two at a step the later one counts. NaN and infinity are words. Raises NotRead."""
    found: dict[Source, dict[int, dict[str, Any]]] = {"points": {}, "held_out": {}}
    for name, step, time, value in values:
        source: Source = "held_out" if name.startswith(HELD_OUT) else "points"
        called = fitted(name.removeprefix(HELD_OUT))
        if not called or not 0 <= step < 2**31:
            continue
        point = found[source].setdefault(step, {"step": step, "time": time, "metrics": {}})
        point["time"] = max(point["time"], time)
        point["metrics"][called] = spelled(value)
        if len(found[source]) > MOST_STEPS:
            raise NotRead(f"It has more than {MOST_STEPS:,} steps, the most that a run has here.")
    return {source: tuple(rows[step] for step in sorted(rows)) for source, rows in found.items()}


def plainly(names: Iterable[str]) -> dict[str, str]:
    """What transformers' trainers write, by the names that they log: train/loss is loss, and eval/loss held-out."""
    known = list(names)
    if not known or not all(name.startswith(("train/", "eval/")) for name in known):
        return {name: name for name in known}
    return {
        name: f"{HELD_OUT}{name.removeprefix('eval/')}" if name.startswith("eval/") else name.removeprefix("train/")
        for name in known
    }
