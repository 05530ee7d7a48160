"""The project's data set of conversations made by hand. What something was made with is never changed: then the next
version begins, with all that the one before holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from mcp_servers.catalogue import SERVERS, fingerprint
from prove_web.accounts.models import Project, User
from prove_web.live.models import Job, Kind, State
from training_worker.prove.synthesis import folder
from training_worker.prove.synthesis.manifest import Drawn
from training_worker.prove.trajectory import Example

from .importing import row
from .models import Dataset, Trajectory
from .verdict import example_of

NAME = "Made by hand"
VERSION = "by_hand"


@transaction.atomic
def keep(project: Project, user: User, build: Callable[[str], Example]) -> Trajectory:
    """Add the example that `build` makes under the id it is given. Raises what `build` raises, and OSError."""
    Project.objects.select_for_update().get(pk=project.pk)  # of two at once, one is numbered first
    newest = Dataset.objects.filter(project=project, job__spec__has_key=VERSION).select_related("job").first()
    example = build(f"hand-{(newest.trajectories.count() if newest else 0) + 1:06d}")
    dataset = newest if newest and not used(newest) else following(project, user, newest)
    made = row(dataset, example)
    made.save()
    write(dataset)
    return made


def used(dataset: Dataset) -> bool:
    """Whether a job was asked for that works with it."""
    return dataset.runs.exists() or Job.objects.filter(spec__dataset=str(dataset.job_id)).exists()


def following(project: Project, user: User, before: Dataset | None) -> Dataset:
    """The next version, with what the one before holds."""
    number = (project.datasets.aggregate(last=Max("number"))["last"] or 0) + 1
    version = before.job.spec[VERSION] + 1 if before else 1
    name, now = NAME if version == 1 else f"{NAME}, version {version}", timezone.now()
    job = Job.objects.create(
        project=project,
        kind=Kind.DATASET,
        title=name,
        spec={VERSION: version},
        state=State.DONE,
        created_by=user,
        started_at=now,
        ended_at=now,
    )
    dataset = Dataset.objects.create(project=project, number=number, name=name, job=job)
    kept = list(before.trajectories.all()) if before else []
    for each in kept:
        each.pk, each.dataset = None, dataset
    Trajectory.objects.bulk_create(kept)
    return dataset


def write(dataset: Dataset) -> None:
    """Put its examples where jobs read them, with the manifest that says what they are."""
    examples = [example for each in dataset.trajectories.all() if (example := example_of(each)) is not None]

    def split_of(split: str) -> tuple[Sequence[Example], Drawn]:
        mine = [example for example in examples if example.split == split]
        return mine, Drawn(drawn=len(mine), dropped={})

    job = dataset.job
    servers = fingerprint(tuple(SERVERS))
    made = folder.write(job.out, NAME, {VERSION: job.spec[VERSION]}, 0, servers, split_of, "a person")
    job.result = {"manifest": asdict(made)}
    job.ended_at = timezone.now()
    job.save(update_fields=["result", "ended_at"])
