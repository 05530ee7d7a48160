"""Loading what synthesis made into the database, where lists and searches find it."""

from __future__ import annotations

import json

from django.db import transaction

from prove_web.live import messages
from prove_web.live.jobs import finish, locked
from prove_web.live.models import Kind, State
from training_worker.prove.synthesis.folder import SPLITS, examples
from training_worker.prove.trajectory import Example, UnreadableData, dumps

from .models import Dataset, Trajectory

BATCH = 500


def import_dataset(job_id: str) -> None:
    """Load the trajectories of a data set's job, once. A job of another kind, or that is not done, has none."""
    done = {"job_id": job_id, "job__kind": Kind.DATASET, "job__state": State.DONE}
    dataset = Dataset.objects.filter(**done).select_related("job").first()
    if dataset is None or dataset.trajectories.exists():
        return
    try:
        found = [e for split in SPLITS for e in examples(dataset.job.out, split)]
    except (OSError, UnreadableData) as error:
        fail(dataset, f"The data set was made, but it cannot be read here. {error}")
        return
    with transaction.atomic():
        job = locked(job_id)
        if job.state == State.DONE and not dataset.trajectories.exists():
            Trajectory.objects.bulk_create((row(dataset, example) for example in found), batch_size=BATCH)
    messages.hint(job)


def fail(dataset: Dataset, why: str) -> None:
    """A data set that nobody can see is not done."""
    with transaction.atomic():
        job = locked(dataset.job_id)
        finish(job, State.FAILED, why)
        job.save()
    messages.hint(job)


def row(dataset: Dataset, example: Example) -> Trajectory:
    tools = [call.name for step in example.steps for call in step.calls]
    return Trajectory(
        dataset=dataset,
        example=example.id,
        split=example.split,
        kind=example.kind,
        steps=len(example.steps),
        servers=",".join(example.world.servers),
        tools=",".join(tools),
        query=example.turns[0],
        record=json.loads(dumps(example)),
    )
