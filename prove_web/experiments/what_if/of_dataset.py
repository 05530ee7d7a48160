"""Reward replay of a dataset's trajectories: demonstrations or collected rollouts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from prove_web.trajectories.models import Dataset, Trajectory
from prove_web.trajectories.rows import made_at
from training_worker.core.trajectory import Example, Reward, Rollout, UnreadableData, loads
from training_worker.environment.episode import StaleExample, oracle
from training_worker.environment.reward_replay import rescore
from training_worker.reward import PAPER, RewardConfig

from ..models import Run
from ..reward_config import scored_by
from .lot import COMPONENTS, Lot, Row
from .source import Place, RescoringResult, Source

PIECE, PIECES = 100, 640  # trajectories per batch, and number of cached batches
COLUMNS = ("pk", "example", "steps", "tools", "origin", "reward", *COMPONENTS)


class DatasetSource(Source):
    """All trajectories of a dataset. Episodes of one example in one step of one run form a group."""

    def __init__(self, dataset: Dataset):
        self.dataset = dataset

    @property
    def name(self) -> str:
        return f"dataset-{self.dataset.number}"

    @property
    def title(self) -> str:
        return f"Dataset {self.dataset.number}: {self.dataset.name}"

    @property
    def config(self) -> RewardConfig:
        """Return the reward that scored the rollouts; the paper's for demonstrations or several rewards."""
        return self.scored[0]

    @property
    def most(self) -> float:
        return max(1.0, self.config.largest)

    @property
    def several(self) -> bool:
        """Return whether the rollouts were scored by different rewards."""
        return len(self.scored) > 1

    @cached_property
    def scored(self) -> list[RewardConfig]:
        """Return the rewards that scored the trajectories; if there are several, the paper's comes first."""
        if self.dataset.holds != Dataset.ContentKind.ROLLOUTS:
            return [PAPER]
        numbers = set(self.dataset.trajectories.order_by().values_list("run", flat=True).distinct())
        runs = {run.number: run for run in Run.objects.filter(project=self.dataset.project_id, number__in=numbers)}
        found = {scored_by(runs[number]) if number in runs else PAPER for number in numbers}
        return [*found] if len(found) == 1 else [PAPER, *(found - {PAPER})]

    def size(self) -> int:
        return self.dataset.trajectories.count()

    def read(self, most: int) -> Lot:
        return Lot.from_rows(self.load_rows(most))

    def load_rows(self, most: int) -> tuple[Row, ...]:
        return rows_of(self.dataset.job_id, self.size(), most)

    def rescore(self, config: RewardConfig, most: int, at_once: int | None = None) -> RescoringResult:
        """Score batch by batch; a changing trace weight has its initial value."""
        rows = self.load_rows(most)
        totals, stale, scored_now, done = dict[str, float](), 0, 0, 0
        while done < len(rows) and (at_once is None or scored_now < at_once):
            names = tuple(row.example for row in rows[done : done + PIECE])
            before = totals_of.cache_info().misses
            found, old = totals_of(self.dataset.job_id, names, config.interpolate_tau(0))
            scored_now += len(names) if totals_of.cache_info().misses > before else 0
            totals, stale, done = totals | found, stale + old, done + len(names)
        after = {row.place: totals[row.place[1]] for row in rows[:done] if row.place[1] in totals}
        return RescoringResult(Lot.from_rows(rows[:done]), after, stale, left=len(rows) - done, scored_now=scored_now)

    def places(self, trajectories: QuerySet) -> frozenset[Place]:
        here = self.dataset.trajectories.filter(pk__in=trajectories).values_list("example", flat=True)
        return frozenset((self.dataset.number, example) for example in here)

    def verdicts(self, rows: Sequence[Row]) -> dict[Place, str]:
        from prove_web.review.models import Item

        judged = Item.objects.filter(trajectory__dataset=self.dataset, state=Item.State.SETTLED).exclude(verdict="")
        return {
            (self.dataset.number, example): verdict
            for example, verdict in judged.order_by("pk").values_list("trajectory__example", "verdict")
        }


@lru_cache(2)
def rows_of(job: UUID, size: int, most: int) -> tuple[Row, ...]:
    """Return every k-th trajectory, at most `most` in total.

    The cache key is the job and `size`, because a dataset does not change once it has its size.
    """
    dataset = Dataset.objects.get(job=job)
    keys = [*dataset.trajectories.order_by("pk").values_list("pk", flat=True)]
    every = max(1, -(-len(keys) // most))
    attempts = dataset.holds == Dataset.ContentKind.ROLLOUTS
    columns = (*COLUMNS, "record__id", "rollout__calls") if attempts else COLUMNS
    found = dataset.trajectories.order_by("pk").values(*columns)
    if every > 1:
        wanted = {*keys[::every]}
        return tuple(row(dataset, one) for one in found.iterator() if one["pk"] in wanted)
    return tuple(row(dataset, one) for one in found.iterator())


def row(dataset: Dataset, one: dict[str, Any]) -> Row:
    needed = len(one["tools"].split(",")) if one["steps"] else 0
    calls = one.get("rollout__calls")
    origin = made_at(one["origin"] or {})
    where = (str(origin.get("run", "")), str(origin.get("step", "")), str(one.get("record__id", one["example"])))
    return Row(
        place=(dataset.number, one["example"]),
        example=one["example"],
        group=where,
        reward=one["reward"],
        components={name: one[name] or 0.0 for name in COMPONENTS},
        calls=len(calls) if isinstance(calls, list) else needed,
        needed=needed,
    )


@lru_cache(PIECES)
def totals_of(job: UUID, names: tuple[str, ...], config: RewardConfig) -> tuple[dict[str, float], int]:
    """Return totals by name, and the number of trajectories not scored because their servers' code changed."""
    totals, stale = dict[str, float](), 0
    rows = Trajectory.objects.filter(dataset__job=job, reward__isnull=False)
    for trajectory in rows.filter(example__in=names):
        reward, old = total_of(trajectory, config)
        stale += old
        totals |= {trajectory.example: reward.total} if reward else {}
    return totals, stale


def total_of(trajectory: Trajectory, config: RewardConfig) -> tuple[Reward | None, bool]:
    """Return the reward, and whether the servers' code has changed so that scoring is impossible."""
    try:
        example, rollout = load_example_and_rollout(trajectory)
        (reward,) = rescore({rollout.example: example}, [rollout], config)
    except StaleExample:
        return None, True
    return reward, False


def load_example_and_rollout(trajectory: Trajectory) -> tuple[Example, Rollout]:
    """Return the example and its rollout; for a demonstration, a rollout of its own steps.

    Raises StaleExample, UnreadableData.
    """
    try:
        example = loads(Example, json.dumps(trajectory.record))
        if trajectory.rollout is None:
            return example, oracle(example)
        return example, loads(Rollout, json.dumps(trajectory.rollout))
    except ValueError as error:
        raise UnreadableData(f"{trajectory.example} cannot be read by this version of the site.") from error
