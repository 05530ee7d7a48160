"""Load of synthesized files into the database, where lists and searches find them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest

from django.db import transaction

from prove_web.live import message_broker
from prove_web.live.jobs import finish, lock_job
from prove_web.live.models import Kind, State
from training_worker.core.trajectory import Example, ExecutedCall, Reward, Rollout, UnreadableData, dumps, read_lines
from training_worker.datasets.dataset_folder import SPLITS, examples
from training_worker.datasets.rollout_dataset import ROLLOUTS, DatasetRollout
from training_worker.reward import PAPER, reward_of
from training_worker.reward.prove_reward import COMPONENTS

from .bulk_load import LoadTakeoverError, claim, load
from .models import Dataset, Trajectory
from .rows import IMPORTED


def import_dataset(job_id: str) -> None:
    """Load the trajectories of a finished dataset job, once; other jobs are ignored."""
    done = {"job_id": job_id, "job__kind": Kind.DATASET, "job__state": State.DONE}
    dataset = Dataset.objects.filter(**done).select_related("job").first()
    if dataset is None or (mark := claim(dataset)) is None:
        return
    try:
        load(dataset, rows_of(dataset), mark)
    except (OSError, UnreadableData) as error:
        fail(dataset, f"The dataset was created, but its files cannot be read. {error}")
    except LoadTakeoverError:
        return
    else:
        message_broker.hint(dataset.job)


def rows_of(dataset: Dataset) -> Iterator[Trajectory]:
    """Yield the rows from the files of a dataset. Raises OSError and UnreadableData."""
    if dataset.holds == Dataset.ContentKind.ROLLOUTS:
        read = read_lines(DatasetRollout, dataset.job.out / ROLLOUTS)
        yield from (attempt(dataset, replace(one, origin={IMPORTED: dict(one.origin)})) for one in read)
        return
    for split in SPLITS:
        yield from (row(dataset, example) for example in examples(dataset.job.out, split))


def fail(dataset: Dataset, why: str) -> None:
    """Mark the job of a dataset that can't be loaded as failed."""
    with transaction.atomic():
        job = lock_job(dataset.job_id)
        finish(job, State.FAILED, why)
        job.save()
    message_broker.hint(job)


def row(dataset: Dataset, example: Example) -> Trajectory:
    """Return the database row of a demonstration."""
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
        **scores(reward_as_recorded(example)),
    )


def attempt(dataset: Dataset, one: DatasetRollout) -> Trajectory:
    """Return the database row of a rollout, with the reward from where it was created."""
    made = row(dataset, one.example)
    made.example, made.rollout, made.origin = one.id, json.loads(dumps(one.rollout)), dict(one.origin)
    for name, value in {**dict.fromkeys(("reward", *COMPONENTS)), **scores(one.rollout.reward)}.items():
        setattr(made, name, value)
    return made


def scores(reward: Reward | None) -> dict[str, float | None]:
    """Return the reward columns; an abstention has no components."""
    if reward is None:
        return {}
    parts = {} if reward.abstention else {name: getattr(reward, name) for name in COMPONENTS}
    return {"reward": reward.total, **parts}


def reward_as_recorded(example: Example) -> Reward | None:
    """Score the recorded steps by the paper's reward, without a replay; None for an example that does not run here."""
    if not example.runs_here:
        return None
    calls = [
        ExecutedCall(call, 3, text)
        for step in example.steps
        for call, text in zip_longest(step.calls, step.observations[: len(step.calls)], fillvalue="")
    ]
    made = Rollout(example=example.id, transcript=(), calls=tuple(calls), end="answered", reward=None)
    return reward_of(example, made, PAPER)
