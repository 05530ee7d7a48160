"""A row as data sets exchange it: an example, or an attempt with its example and where it was made."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from training_worker.prove.curation.rollout_dataset import Collected
from training_worker.prove.trajectory import Example, dumps, loads

from .models import Trajectory
from .replay_score import example_of

IMPORTED = "imported"  # what an imported attempt says of where it was made: the runs of this project have no part in it


def exchanged(row: Trajectory) -> Example | Collected | None:
    """None for a row that today's code cannot read."""
    if row.rollout is None:
        return example_of(row)
    origin = made_at(row.origin)
    try:
        return loads(
            Collected,
            json.dumps({"id": row.example, "example": row.record, "rollout": row.rollout, "origin": origin}),
        )
    except ValidationError:
        return None


def made_at(origin: Mapping[str, Any]) -> Mapping[str, Any]:
    """Where an attempt was made, as it says itself."""
    told = origin.get(IMPORTED)
    return told if isinstance(told, Mapping) else origin


def extract_examples(found: Iterable[Example | Collected], attempts: Path) -> Iterator[Example]:
    """The example of each; what several attempts were asked comes once. The attempts are written to a file on the way,
    which is there once all have come, if there are any."""
    partial, seen = attempts.with_name(attempts.name + ".partial"), set[tuple[str, str]]()
    with partial.open("w", encoding="utf-8") as file:
        for one in found:
            if isinstance(one, Example):
                yield one
                continue
            file.write(dumps(one) + "\n")
            if (one.example.id, line := dumps(one.example)) not in seen:
                seen.add((one.example.id, line))
                yield one.example
        written = file.tell()
    partial.replace(attempts) if written else partial.unlink()
