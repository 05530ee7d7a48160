"""Export of a run's metric points and rollouts, read in batches."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from django.db.models import QuerySet

from training_worker.core.trajectory import dumps
from training_worker.store.folder import read_rollouts

from .models import Run
from .rollout_storage import StoredRun
from .rollouts import NoRollouts, convert_read_errors

TOGETHER = 1_000  # points in memory at a time


def points_of(table: QuerySet) -> Iterator[dict[str, Any]]:
    """Yield each point with all its metrics in step order, without an open cursor for slow clients."""
    last = -1
    while part := list(table.filter(step__gt=last).order_by("step").values_list("step", "metrics")[:TOGETHER]):
        yield from ({"step": step, **metrics} for step, metrics in part)
        last = part[-1][0]


def rollouts_of(run: Run, steps: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Yield each rollout with its step and index; an unreadable step yields an error instead of rollouts."""
    store = StoredRun(run)
    for step in steps:
        try:
            with convert_read_errors(run, step):
                for index, rollout in enumerate(read_rollouts(store, [step], transcripts=True), 1):
                    yield {"step": step, "index": index, "rollout": json.loads(dumps(rollout))}
        except NoRollouts as why:
            yield {"step": step, "index": None, "error": str(why)}
