"""The sampling rules select the trajectories of a queue; the rows are of real trajectories."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_servers.core.rng import Draw
from prove_web.accounts.models import Project, User
from prove_web.experiments.models import Point
from prove_web.review.models import Item, Queue
from prove_web.review.sampling import (
    Row,
    Sampling,
    SamplingMethod,
    StratificationKey,
    draw_stratified_sample,
    groups_of,
    rank_by_failure_rate,
    sample,
)
from prove_web.trajectories.models import Dataset, Trajectory

from .examples import dataset_of, examples
from .reviewed import queue_of
from .story import run_job

ROWS = st.lists(
    st.tuples(
        st.sampled_from(["chain", "irrelevance"]), st.integers(0, 4), st.sets(st.sampled_from("abc"), max_size=2)
    ),
    max_size=30,
).map(lambda made: [Row(at, kind, steps, tuple(sorted(of)), ()) for at, (kind, steps, of) in enumerate(made)])


@given(rows=ROWS, by=st.sampled_from(StratificationKey), most=st.integers(1, 40), seed=st.integers(0, 9))
def test_an_even_draw_takes_each_once_and_no_group_runs_far_ahead(
    rows: list[Row], by: StratificationKey, most: int, seed: int
) -> None:
    drawn = draw_stratified_sample(rows, by, most, Draw(seed))
    assert drawn == draw_stratified_sample(rows, by, most, Draw(seed))
    assert len({row.pk for row in drawn}) == len(drawn) == min(most, len(rows))
    if by != StratificationKey.SERVER:  # a trajectory of two servers counts for both
        there = Counter(groups_of(row, by)[0] for row in rows)
        taken = Counter(groups_of(row, by)[0] for row in drawn)
        unfinished = [taken[name] for name in there if taken[name] < there[name]]
        assert max(taken.values(), default=0) - min(unfinished, default=most) <= 1


def test_the_worst_tool_of_a_trajectory_decides_its_place() -> None:
    rows = [Row(at, "chain", 1, (), tools) for at, tools in enumerate([("a",), ("b", "a"), ("c",), ("b",)])]
    assert [row.pk for row in rank_by_failure_rate(rows, {"a": 0.2, "b": 0.6})] == [1, 3, 0]


@pytest.fixture
def dataset(project: Project) -> Dataset:
    return dataset_of(project, examples())


def sample_trajectories(project: Project, how: SamplingMethod, **rest: Any) -> list[Trajectory]:
    keys = sample(Trajectory.objects.filter(dataset__project=project), Sampling(how, **rest), project)
    found = Trajectory.objects.in_bulk(keys)
    return [found[key] for key in keys]


def test_a_seed_draws_the_same_again_and_another_one_others(project: Project, dataset: Dataset) -> None:
    one, again, other = (sample_trajectories(project, SamplingMethod.RANDOM, n=10, seed=seed) for seed in (1, 1, 2))
    assert one == again != other and len({each.pk for each in one}) == 10
    assert len(sample_trajectories(project, SamplingMethod.ALL)) == dataset.trajectories.count()


def test_tools_that_fail_in_a_run_bring_their_trajectories(project: Project) -> None:
    run = run_job(project).run
    dataset = dataset_of(project, examples())
    tool = next(each.tools for each in dataset.trajectories.exclude(tools="").order_by("pk")).split(",")[0]
    Point.objects.create(run=run, step=1, metrics={"tools": {tool: [10, 9], "rare": [1, 1]}})
    found = sample_trajectories(project, SamplingMethod.FAILING, run=run.number)
    assert found and all(tool in each.tools.split(",") for each in found)
    assert sample_trajectories(project, SamplingMethod.FAILING, run=99) == []


def test_disagreements_are_conflicts_and_verdicts_against_the_reward(
    project: Project, mary: User, dataset: Dataset
) -> None:
    queue = queue_of(project, mary, dataset=dataset)
    dataset.trajectories.update(reward=1.3)
    settled: list[tuple[str, str, float]] = [
        ("conflict", "", 1.3), ("settled", "accept", 1.3), ("settled", "accept", 0.2), ("settled", "reject", 1.3),
        ("settled", "reject", 0.2), ("open", "", 0.2),
    ]  # fmt: skip
    for position, (state, verdict, reward) in enumerate(settled, start=1):
        item = queue.items.get(position=position)
        Item.objects.filter(pk=item.pk).update(state=state, verdict=verdict)
        Trajectory.objects.filter(pk=item.trajectory_id).update(reward=reward)
    wanted = [queue.items.get(position=at).trajectory for at in (1, 3, 4)]
    assert sample_trajectories(project, SamplingMethod.DISAGREEMENTS) == wanted
    assert Queue.objects.count() == 1
