"""Creation of a dataset from existing trajectories, with files and rows of its own that never change again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from prove_web.accounts.locks import lock_active_project
from prove_web.accounts.models import Project, User
from prove_web.live.jobs import enqueue
from prove_web.live.models import CURATE, Job, Kind, State
from prove_web.sharing.models import Deletion
from prove_web.sharing.sequences import next_number

from .models import Dataset, Trajectory

CHOSEN = "chosen.json"  # in the job's folder: the chosen rows
AT_ONCE = 500  # size of the work that is done within a request
REPLAY = 20  # rows that are copied in the time of one replay
LONGEST = 80  # characters of a name
DEMONSTRATIONS = Dataset.ContentKind.DEMONSTRATIONS.value


class InvalidDataset(ValueError):
    """Error of a dataset that can't be created from these trajectories; the message says why and what to do."""


def make_version(
    project: Project,
    user: User | None,
    name: str,
    rows: QuerySet[Trajectory],
    *,
    parent: Dataset | None = None,
    origin: Mapping[str, Any],
    demonstrations: bool = False,
) -> Dataset:
    """Create the dataset of these rows, in their order of creation; for many rows a job does the work.

    Duplicates are left out and counted. With `demonstrations`, rollouts become demonstrations: their successful calls
    are the ground truth, if a fresh world agrees. Raises InvalidDataset if there are no rows, or rollouts among
    demonstrations.
    """
    holds = DEMONSTRATIONS if demonstrations and rows.exists() else held_by(rows)
    chosen = list(dict.fromkeys(rows.order_by("pk").values_list("pk", flat=True)))
    spec = {CURATE: {"how": "version", "demonstrations": demonstrations}}
    replays = rows.order_by().filter(rollout__isnull=False).count() if demonstrations else 0
    size = len(chosen) + REPLAY * replays
    return launch(project, user, name, spec, chosen, holds=holds, parent=parent, origin=origin, size=size)


def launch(
    project: Project,
    user: User | None,
    name: str,
    spec: dict[str, Any],
    chosen: Sequence[Any],
    *,
    holds: str = DEMONSTRATIONS,
    parent: Dataset | None = None,
    origin: Mapping[str, Any],
    size: int | None = None,
) -> Dataset:
    """Create the dataset and fill it, within the request if that is quick.

    `size` is of the work. Raises InvalidDataset.
    """
    from .dataset_build import curate_now

    with transaction.atomic():
        dataset = begin(project, user, name, spec, holds=holds, parent=parent, origin=origin)
        try:
            keep_chosen(dataset.job, chosen)
            if (len(chosen) if size is None else size) > AT_ONCE:
                enqueue(dataset.job)
            else:
                curate_now(dataset)
        except BaseException as error:
            shutil.rmtree(dataset.job.folder, ignore_errors=True)
            if isinstance(error, OSError):
                raise InvalidDataset(
                    f"The data folder cannot be written to ({error.strerror}). Contact the site administrator."
                ) from None
            raise
    return dataset


def begin(
    project: Project,
    user: User | None,
    name: str,
    spec: dict[str, Any],
    *,
    holds: str = DEMONSTRATIONS,
    parent: Dataset | None = None,
    origin: Mapping[str, Any] | None = None,
) -> Dataset:
    """Create an empty dataset with the project's next number, and its queued job. Call it in a transaction."""
    lock_active_project(project)  # two concurrent calls must not get the same number
    number = next_number(project, Dataset, Deletion.Kind.DATASET)
    name = name.strip()[:LONGEST] or f"Dataset {number}"
    job = Job.objects.create(project=project, kind=Kind.DATASET, title=name, spec=spec, created_by=user)
    rest = {"holds": holds, "parent": parent, "origin": dict(origin or {})}
    return Dataset.objects.create(project=project, number=number, name=name, job=job, **rest)


def mark_job_done(dataset: Dataset, result: dict[str, Any]) -> None:
    """Mark the dataset's job as done now, with this result."""
    job, now = dataset.job, timezone.now()
    job.state, job.result = State.DONE, result
    job.started_at, job.ended_at = job.started_at or now, now
    job.save()


def held_by(rows: QuerySet[Trajectory]) -> str:
    """Return what a dataset of these rows holds. Raises InvalidDataset."""
    kinds = set(rows.order_by().values_list("dataset__holds", flat=True).distinct())
    if not kinds:
        raise InvalidDataset("No trajectories match. Change the search.")
    if len(kinds) > 1:
        raise InvalidDataset(
            "Some of these are demonstrations and some are rollouts; a dataset holds one or the other. "
            "Narrow the search to one of them, such as with has:rollout, or to one dataset."
        )
    return str(kinds.pop())


def keep_chosen(job: Job, chosen: Sequence[Any]) -> None:
    """Store the chosen rows, so that the dataset does not depend on what a search finds later."""
    job.folder.mkdir(parents=True, exist_ok=True)
    path = job.folder / CHOSEN
    partial = Path(f"{path}.partial")
    partial.write_text(json.dumps(chosen), "utf-8")
    partial.replace(path)


def chosen_for(job: Job) -> list[Any]:
    """Return the stored rows. Raises InvalidDataset."""
    try:
        return list(json.loads((job.folder / CHOSEN).read_text("utf-8")))
    except (OSError, ValueError):
        raise InvalidDataset(
            f"The selection for “{job.title}” is missing from the data folder. Create the dataset again."
        ) from None
