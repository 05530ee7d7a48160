"""Exchange form of a row: an example, or a rollout with its example and origin."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from training_worker.core.trajectory import Example, dumps, loads
from training_worker.datasets.rollout_dataset import DatasetRollout

from .models import Trajectory
from .replay_score import example_of

IMPORTED = "imported"  # key of an imported rollout's origin, which has nothing to do with the runs of this project


def build_exchange_form(row: Trajectory) -> Example | DatasetRollout | None:
    """Return the exchange form of a row; None if the current code can't read it."""
    if row.rollout is None:
        return example_of(row)
    origin = made_at(row.origin)
    try:
        return loads(
            DatasetRollout,
            json.dumps({"id": row.example, "example": row.record, "rollout": row.rollout, "origin": origin}),
        )
    except ValidationError:
        return None


def made_at(origin: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the origin that the rollout itself states."""
    imported = origin.get(IMPORTED)
    return imported if isinstance(imported, Mapping) else origin


def extract_examples(found: Iterable[Example | DatasetRollout], attempts: Path) -> Iterator[Example]:
    """Yield the example of each row; an example with several rollouts comes once.

    The rollouts are written to a file, which appears once all rows were read, if there are any.
    """
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
