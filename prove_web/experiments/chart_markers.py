"""Chart markers of a run by step: checkpoints, held-out evaluations, benchmarks and resumes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .models import Run

KINDS = {"checkpoint": "Checkpoints", "held_out": "Evaluations", "benchmark": "Benchmarks", "resumed": "Resumes"}
MARKED = ("checkpoint", "held_out", "rewound")  # event kinds that become markers
Mark = dict[str, Any]  # kind, step, text
EventRow = tuple[int, str, Any]  # attempt, kind and step of an event


def marks(run: Run) -> list[Mark]:
    """Return the markers ordered by step, then by kind."""
    events = run.job.events.filter(kind__in=MARKED).order_by("id").values_list("attempt", "kind", "data__step")
    found = [*of_events(events), *of_benchmarks(run)]
    return sorted(found, key=lambda mark: (mark["step"], [*KINDS].index(mark["kind"])))


def of_events(events: Iterable[EventRow]) -> list[Mark]:
    """Return the markers that remain after all events: a rewind drops everything after its step, repeats count once."""
    found: dict[tuple[str, int], str] = {}
    for attempt, kind, step in events:
        if not isinstance(step, int):
            continue  # events of older workers were not validated
        if kind == "rewound":
            found = {key: text for key, text in found.items() if key[1] <= step}
            if attempt > 1:
                found["resumed", step] = f"attempt {attempt} resumed"
        else:
            found[kind, step] = "checkpoint" if kind == "checkpoint" else "held-out evaluation"
    return [{"kind": kind, "step": step, "text": text} for (kind, step), text in found.items()]


def of_benchmarks(run: Run) -> list[Mark]:
    """Return markers for the scored evaluations of the run's checkpoints."""
    scored = run.evaluations.exclude(overall=None).values_list("checkpoint", "name", "overall")
    return [
        {"kind": "benchmark", "step": int(checkpoint), "text": f"{name}: {100 * overall:.1f} %"}
        for checkpoint, name, overall in scored
        if checkpoint.isdecimal()
    ]
