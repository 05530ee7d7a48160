"""Creation of a dataset from existing trajectories: first its files, then its rows; after a crash it starts over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Protocol

from django.db import transaction

from mcp_servers.catalogue import SERVERS, fingerprint
from prove_web.live.models import CURATE
from training_worker.core.trajectory import file_digest
from training_worker.datasets.export.publish import publish
from training_worker.datasets.files import write_streamed
from training_worker.datasets.rollout_dataset import ROLLOUTS

from .bulk_load import BATCH, COMMITTED, batches, clear
from .models import Dataset, Trajectory
from .rollout_collection import Attempts
from .row_selection import Progress, RowSelection, copies, select_rows
from .rows import build_exchange_form, extract_examples
from .versions import InvalidDataset, mark_job_done


class Source(Protocol):
    """Source of the rows of a new dataset; it yields the same rows in the same order every time."""

    settings: dict[str, Any]
    seed: int

    def iter_trajectories(self, dropped: Counter[str], doing: str) -> Iterator[Trajectory]: ...


class Copies:
    """Copies of existing rows."""

    def __init__(self, found: RowSelection, progress: Progress):
        self.found, self.progress = found, progress
        self.settings, self.seed = found.settings, found.seed

    def iter_trajectories(self, dropped: Counter[str], doing: str) -> Iterator[Trajectory]:
        return copies(self.found, self.progress, dropped, doing)


def curate_now(dataset: Dataset) -> None:
    """Create the dataset within a request. Raises InvalidDataset; call it in a transaction."""
    mark_job_done(dataset, fill(dataset, ignore_progress, plots=False))


def fill(dataset: Dataset, progress: Progress, *, plots: bool = True) -> dict[str, Any]:
    """Write the files, then the rows, replacing what an earlier attempt left. Return the job's result.

    Raises InvalidDataset, OSError, and what `progress` raises.
    """
    source, dropped = source_of(dataset, progress)
    job = dataset.job
    job.out.mkdir(parents=True, exist_ok=True)
    attempts = job.out / ROLLOUTS
    attempts.unlink(missing_ok=True)
    settings = {**source.settings, "origin": dataset.origin}
    made = write_streamed(
        job.out,
        job.spec[CURATE]["how"],
        settings,
        extract_examples(
            filter(None, map(build_exchange_form, source.iter_trajectories(dropped, "written"))), attempts
        ),
        dropped,
        seed=source.seed,
        servers=fingerprint(tuple(SERVERS)),
        teacher=teacher_of(dataset.parent),
    )
    if not sum(part.conversations for part in made.splits.values()):
        why = ", ".join(f"{reason} ({count:,})" for reason, count in dropped.items() if count)
        raise InvalidDataset(f"No trajectories are left{f': {why}' if why else ''}. Choose others.")
    store(dataset, source.iter_trajectories(Counter(), "saved"))
    if plots:
        with suppress(KeyError):  # a removed tool has no schema to publish
            publish(job.out)
    result = {"manifest": asdict(made)}
    return result | ({"content": file_digest(attempts)} if attempts.exists() else {})


def source_of(dataset: Dataset, progress: Progress) -> tuple[Source, Counter[str]]:
    spec = dataset.job.spec[CURATE]
    if spec["how"] == "collect":
        return Attempts(dataset, spec, progress), Counter()
    found = select_rows(dataset, progress)
    return Copies(found, progress), Counter(found.dropped)


def store(dataset: Dataset, rows: Iterator[Trajectory]) -> None:
    """Insert the rows in batches, between which others may write."""
    clear(dataset)
    for part in batches(rows, COMMITTED):
        for row in part:
            row.dataset = dataset
        with transaction.atomic():
            Trajectory.objects.bulk_create(part, batch_size=BATCH)


def teacher_of(parent: Dataset | None) -> str:
    return str(parent.job.result.get("manifest", {}).get("teacher", "")) if parent else ""


def ignore_progress(done: int, total: int, doing: str) -> None:
    """Ignore progress."""
