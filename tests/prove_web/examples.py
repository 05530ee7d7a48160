"""Examples for the pages: real ones, made once, and data sets of them in the database."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prove_web.accounts.models import Project, User
from prove_web.live.models import Job, Kind, State
from prove_web.trajectories.load_dataset import row
from prove_web.trajectories.models import Dataset, Trajectory
from tests.prove.known import known_examples
from training_worker.core.trajectory import Example

FOUND = 60


def examples() -> tuple[Example, ...]:
    return known_examples(FOUND)


def sequences() -> list[Example]:
    """Return the examples in which each step is one call, and the abstentions."""
    return [one for one in examples() if all(len(step.calls) == 1 for step in one.steps)]


def chain(steps: int = 2) -> Example:
    """Return a chain of at least this many single calls, the second of which takes a value from the first result."""
    found = (one for one in sequences() if len(one.steps) >= steps and (0, 1) in one.fed and one.level == "complete")
    return next(one for one in found if one.kind == "chain")


def abstention() -> Example:
    return next(one for one in examples() if one.abstains)


def dataset_of(
    project: Project, held: Iterable[Example] = (), state: State = State.DONE, by: User | None = None, **rest: Any
) -> Dataset:
    """Create a data set as it is after its import."""
    number = Dataset.objects.filter(project=project).count() + 1
    title = rest.pop("name", f"Data set {number}")
    job = Job.objects.create(project=project, kind=Kind.DATASET, title=title, state=state, created_by=by, **rest)
    dataset = Dataset.objects.create(project=project, number=number, name=title, job=job)
    Trajectory.objects.bulk_create([row(dataset, example) for example in held])
    return dataset
