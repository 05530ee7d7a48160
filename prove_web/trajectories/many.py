"""Test load of a project with very many trajectories, to time lists and searches: real ones, repeated."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import islice

import networkx as nx
from django.db import transaction

from prove_web.accounts.models import Project
from training_worker.core.trajectory import Example, ExecutedCall, Rollout, dumps
from training_worker.graph.dependency_graph import build
from training_worker.reward import PAPER, reward_of
from training_worker.synthesis.conversation import Recipe, make

from .load_dataset import row, scores
from .models import Dataset, Trajectory
from .versions import begin, mark_job_done

SERVERS = ("banking", "calendar", "email", "shopping", "crm", "iot_devices", "filesystem", "team_chat")
BATCH = 1_000
CALL_SHARE = 0.7  # share of the calls of a demonstration in a rollout


def load(project: Project, count: int, different: int) -> Iterator[int]:
    """Load `count` trajectories into two new datasets of a project: demonstrations, and rollouts of them.

    The demonstrations repeat `different` synthesized ones under new ids; the rollouts omit calls and are scored like
    any rollout. Yields the number of trajectories after each batch.
    """
    examples = tuple(islice(synthesize_examples(), different))
    demos = create_empty_dataset(project, Dataset.ContentKind.DEMONSTRATIONS, "Many demonstrations")
    attempts = create_empty_dataset(project, Dataset.ContentKind.ROLLOUTS, "Many attempts")
    draw = random.Random(0)
    for first in range(0, count, BATCH):
        Trajectory.objects.bulk_create(
            build_trajectory(attempts if number % 2 else demos, examples[number // 2 % different], number, draw)
            for number in range(first, min(first + BATCH, count))
        )
        yield min(first + BATCH, count)


@cache
def proven(servers: tuple[str, ...]) -> nx.DiGraph:
    return build(servers=servers)


def synthesize_examples() -> Iterator[Example]:
    graph, index = proven(SERVERS), 0
    while True:
        if example := make(index, "train", graph, Recipe())[0]:
            yield example
        index += 1


def create_empty_dataset(project: Project, holds: str, name: str) -> Dataset:
    with transaction.atomic():
        dataset = begin(project, None, name, {}, holds=holds)
        mark_job_done(dataset, {})
    return dataset


def build_trajectory(dataset: Dataset, example: Example, number: int, draw: random.Random) -> Trajectory:
    example = replace(example, id=f"many-{number:06d}", split="held_out" if number % 10 > 7 else "train")
    made = row(dataset, example)
    if dataset.holds == Dataset.ContentKind.ROLLOUTS:
        rollout = attempt(example, draw)
        made.rollout = json.loads(dumps(rollout))
        for name, value in scores(rollout.reward).items():
            setattr(made, name, value)
    return made


def attempt(example: Example, draw: random.Random) -> Rollout:
    """Return a rollout with the calls of the demonstration, some omitted."""
    calls = [
        ExecutedCall(call, 3, said)
        for step in example.steps
        for call, said in zip(step.calls, step.observations, strict=True)
        if draw.random() < CALL_SHARE
    ]
    made = Rollout(example=example.id, transcript=(), calls=tuple(calls), end="answered", reward=None)
    return replace(made, reward=reward_of(example, made, PAPER))
