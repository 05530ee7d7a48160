"""The project's dataset of manually created conversations.

A dataset that is in use never changes: the next conversation starts a new version with everything that the previous one
holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

from django.db import transaction

from mcp_servers.catalogue import SERVERS, fingerprint
from prove_web.accounts.locks import lock_active_project
from prove_web.accounts.models import Project, User
from prove_web.live.models import Job
from training_worker.core.trajectory import Example
from training_worker.datasets.files import write_streamed

from .load_dataset import row
from .models import Dataset, Trajectory
from .replay_score import example_of
from .versions import begin, mark_job_done

NAME = "Made by hand"
VERSION = "by_hand"


@transaction.atomic
def add_manual_example(
    project: Project, user: User, build: Callable[[str], Example], parent: Trajectory | None = None
) -> Trajectory:
    """Add the example that `build` makes with the given id, as an edit of `parent`.

    Raises what `build` raises, and OSError.
    """
    lock_active_project(project)  # two concurrent calls must not get the same number
    newest = Dataset.objects.filter(project=project, job__spec__has_key=VERSION).select_related("job").first()
    example = build(f"hand-{(newest.trajectories.count() if newest else 0) + 1:06d}")
    dataset = newest if newest and not is_in_use(newest) else create_next_version(project, user, newest)
    made = row(dataset, example)
    made.parent = parent
    made.origin = {"edited": [parent.dataset.number, parent.example]} if parent else {}
    made.save()
    write(dataset)
    return made


def is_in_use(dataset: Dataset) -> bool:
    """Return whether the dataset is in use: by a run or another job, or as the parent of another version."""
    return (
        dataset.runs.exists()
        or dataset.versions.exists()
        or Job.objects.filter(spec__dataset=str(dataset.job_id)).exists()
    )


def create_next_version(project: Project, user: User, before: Dataset | None) -> Dataset:
    """Create the next version, with the contents of the previous one."""
    version = before.job.spec[VERSION] + 1 if before else 1
    name = NAME if version == 1 else f"{NAME}, version {version}"
    dataset = begin(project, user, name, {VERSION: version}, parent=before)
    rows = list(before.trajectories.all()) if before else []
    for each in rows:
        each.pk, each.dataset = None, dataset
    Trajectory.objects.bulk_create(rows)
    return dataset


def write(dataset: Dataset) -> None:
    """Write the examples where jobs read them, with their manifest."""
    examples = (example for each in dataset.trajectories.all() if (example := example_of(each)) is not None)
    servers, settings = fingerprint(tuple(SERVERS)), {VERSION: dataset.job.spec[VERSION]}
    made = write_streamed(dataset.job.out, NAME, settings, examples, {}, servers=servers, teacher="a person")
    mark_job_done(dataset, {"manifest": asdict(made)})
