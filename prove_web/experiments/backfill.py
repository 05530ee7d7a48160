"""Steps whose index does not tell what became of the calls are read from their files, a few at a time."""

from __future__ import annotations

from typing import Any

from training_worker.prove.store.parquet import DamagedFile
from training_worker.prove.store.steps import read_outcomes
from training_worker.prove.store.storage import StorageFailed

from .models import RolloutGroup, Run, StepRollouts
from .rollout_index import TOLD, UNTRIED, counted, needed_by, with_untried
from .rollout_storage import StoredRun

AT_ONCE = 20  # files read while somebody waits for a page


def recount(run: Run, first: int, last: int) -> int:
    """Count what is not counted of the steps from `first` to `last`, a few of them; how many are left.

    A file that is away or damaged leaves its step as it was.
    """
    waiting = run.kept.filter(outcomes__isnull=True, step__gte=first, step__lte=last)
    for kept in waiting.order_by("?")[:AT_ONCE]:
        count_step(run, kept)
    return int(waiting.count())


def count_step(run: Run, kept: StepRollouts) -> None:
    try:
        words = read_outcomes(StoredRun(run).file(kept.step))
    except (OSError, DamagedFile, StorageFailed):
        return
    rows = list(run.groups.filter(step=kept.step))
    needed = needed_by(run, {row.example for row in rows})
    groups = []
    for row in rows:
        told: dict[str, Any] = {**row.rollouts, "example": row.example}
        told[TOLD] = [list(each) for each in words[row.first - 1 : row.first - 1 + row.size]]
        groups.append(with_untried(told, needed))
        row.rollouts = {name: groups[-1][name] for name in (*row.rollouts, TOLD, UNTRIED)}
    RolloutGroup.objects.bulk_update(rows, ["rollouts"])
    kept.outcomes = counted(groups)
    kept.save(update_fields=["outcomes"])
