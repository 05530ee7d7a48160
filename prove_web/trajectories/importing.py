"""Loading what synthesis made into the database, where lists and searches find it."""

from __future__ import annotations

import json

from django.db import transaction

from prove_web.live.models import Kind
from training_worker.prove.trajectory import Example, dumps, read_lines

from .models import Dataset, Trajectory

BATCH = 500
SPLITS = ("train", "held_out")


def import_dataset(job_id: str) -> None:
    """Load the trajectories of a data set's job. Done twice, it changes nothing; a job of another kind has none."""
    dataset = Dataset.objects.filter(job_id=job_id, job__kind=Kind.DATASET).select_related("job").first()
    if dataset is None:
        return
    examples = [e for split in SPLITS for e in read_lines(Example, dataset.job.out / f"{split}.jsonl")]
    with transaction.atomic():
        dataset.trajectories.all().delete()
        rows = (row(dataset, example) for example in examples)
        Trajectory.objects.bulk_create(rows, batch_size=BATCH)


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
