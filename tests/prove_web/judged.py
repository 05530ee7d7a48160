"""Trajectories that people have judged: queues, items and complete reviews as reviewing leaves them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from prove_web.accounts.models import Project, User
from prove_web.review.models import Item, Queue, Review
from prove_web.review.schema import PLAIN, LabelSchema
from prove_web.trajectories.load_dataset import row, scores
from prove_web.trajectories.models import Dataset, Trajectory
from training_worker.core.trajectory import Example, Rollout, dumps

from .examples import dataset_of

VERDICT = "verdict"


def queue_of(project: Project, trajectories: Sequence[Trajectory], schema: LabelSchema = PLAIN, **rest: Any) -> Queue:
    """Create a queue with an item for each trajectory."""
    number = project.queues.count() + 1
    rest = {"name": f"Queue {number}", "schema": schema.model_dump(mode="json"), "reviewers": 2, **rest}
    queue = Queue.objects.create(project=project, number=number, **rest)
    Item.objects.bulk_create(
        Item(queue=queue, position=place, trajectory=one) for place, one in enumerate(trajectories, 1)
    )
    return queue


def review(item: Item, by: User, answers: Mapping[str, Any] | str, *, days: int = 0, **rest: Any) -> Review:
    """Create a complete review; a text is the verdict alone."""
    given = {VERDICT: answers} if isinstance(answers, str) else dict(answers)
    at = at_noon() - timedelta(days=days)
    rest = {"state": Review.State.DONE, "done_at": at, **rest}
    return Review.objects.create(item=item, reviewer=by, answers=given, **rest)


def at_noon() -> datetime:
    """Return noon of a Wednesday."""
    return timezone.make_aware(datetime(2026, 11, 18, 12))


def settle(item: Item, verdict: str) -> None:
    Item.objects.filter(pk=item.pk).update(verdict=verdict, state=Item.State.SETTLED)


def collected(project: Project, attempts: Sequence[tuple[Example, Rollout]], **origin: Any) -> Dataset:
    """Create a data set of a policy's attempts, each with its reward."""
    dataset = dataset_of(project)
    Dataset.objects.filter(pk=dataset.pk).update(holds=Dataset.ContentKind.ROLLOUTS)
    dataset.refresh_from_db()
    rows = []
    for number, (example, rollout) in enumerate(attempts, 1):
        one = row(dataset, replace(example, id=f"{example.id}-{number}"))
        one.record, one.rollout = as_json(example), as_json(rollout)
        one.origin = {**origin, "rollout": number} if origin else {}
        for name in ("reward", "validity", "coverage", "efficiency", "name", "arguments"):
            setattr(one, name, scores(rollout.reward).get(name))
        rows.append(one)
    Trajectory.objects.bulk_create(rows)
    return dataset


def as_json(value: object) -> Any:

    return json.loads(dumps(value))
