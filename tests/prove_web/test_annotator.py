"""The reward as an annotator: its agreement with people, their disagreements, and the queue made of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import krippendorff
import numpy as np
import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from prove_web.accounts.models import Project, User
from prove_web.review.models import Queue
from prove_web.review.reward_agreement import PARTS, JudgedTrajectory, annotator, auc, cut, list_judged_trajectories
from prove_web.review.reward_conflicts import disagreements, queue_of
from prove_web.review.schema import read_schema
from prove_web.trajectories.models import Trajectory

from .examples import dataset_of, examples
from .judged import queue_of as queue_to_review
from .judged import review, settle

SignIn = Callable[[User], Client]


def unit(number: int, verdict: str, **scores: float) -> JudgedTrajectory:
    return JudgedTrajectory(number, 1, number, 1, f"e-{number}", "Do it.", number, verdict, scores)


LABELLED = st.lists(
    st.tuples(st.booleans(), st.integers(0, 4).map(lambda quarter: quarter / 4)), min_size=12, max_size=60
)


@settings(max_examples=60, deadline=None)
@given(labelled=LABELLED)
def test_the_area_under_the_curve_is_the_chance_of_the_right_order(labelled: list[tuple[bool, float]]) -> None:
    people, scores = (np.array(side) for side in zip(*labelled, strict=True))
    found = auc(people, scores)
    if people.all() or not people.any():
        assert found is None
        return
    assert found.value == pytest.approx(roc_auc_score(people, scores))
    assert found.low is None or 0 <= found.low <= found.value <= found.high <= 1


def test_the_interval_of_the_area_is_delongs() -> None:
    """The interval follows from the structural components (DeLong et al. 1988, equations 4 to 7), pair by pair."""
    state = np.random.default_rng(5)
    people, scores = np.arange(80) % 3 == 0, np.round(state.normal(size=80), 1)
    good, bad = scores[people] + 0.8, scores[~people]
    above = np.array([[(x > y) + (x == y) / 2 for y in bad] for x in good])
    by_good, by_bad = above.mean(axis=1), above.mean(axis=0)
    error = (by_good.var(ddof=1) / len(good) + by_bad.var(ddof=1) / len(bad)) ** 0.5
    found = auc(people, np.where(people, scores + 0.8, scores))
    assert found.value == pytest.approx(above.mean())
    assert (found.low, found.high) == pytest.approx((above.mean() - 1.959964 * error, above.mean() + 1.959964 * error))


@settings(max_examples=40, deadline=None)
@given(labelled=LABELLED)
def test_a_threshold_makes_an_annotator_of_the_reward(labelled: list[tuple[bool, float]]) -> None:
    people, scores = (np.array(side) for side in zip(*labelled, strict=True))
    units = [unit(at, "accept" if good else "reject", reward=score) for at, (good, score) in enumerate(labelled)]
    found = annotator(units)
    if people.all() or not people.any():
        assert not found.cuts and found.unmeasurable.startswith("Not measurable: people accepted")
        return
    assert found.best in found.cuts and found.best.ac1.value == max(one.ac1.value for one in found.cuts)
    assert [one.threshold for one in found.cuts] == sorted({*scores})
    for one in found.cuts:
        accepts = scores >= one.threshold
        assert one.percent.value == pytest.approx((accepts == people).mean())
        assert len(disagreements(units, "reward", one.threshold)) == (accepts != people).sum()
        if one.alpha:
            two = np.array([people, accepts], dtype=int)
            assert one.alpha.value == pytest.approx(krippendorff.alpha(two, level_of_measurement="nominal"))


def test_a_perfect_annotator_is_one_everywhere_and_a_reversed_one_is_worse_than_chance() -> None:
    people = np.arange(20) < 8
    right, wrong = cut(people, people * 1.0, 0.5), cut(people, 1.0 - people, 0.5)
    assert right.percent.value == right.ac1.value == right.alpha.value == 1
    assert (right.hits, right.false_alarms) == (1, 0)
    assert wrong.percent.value == 0 and wrong.ac1.value < 0 and (wrong.hits, wrong.false_alarms) == (0, 1)
    assert auc(people, people * 1.0).value == 1 and auc(people, 1.0 - people).value == 0


def test_few_units_and_missing_parts_are_reported_and_not_scored() -> None:
    units = [unit(at, "accept", reward=1.0) for at in range(12)] + [unit(99, "reject", reward=0.2, name=0.5)]
    assert annotator(units).enough and not annotator(units, "name").enough
    assert annotator(units, "name").units == 1 and annotator(units, "name").cuts == ()


@pytest.mark.parametrize("side, expected", [("", [3, 2, 0]), ("low", [3, 2]), ("high", [0])])
def test_disagreements_come_farthest_first_from_either_side(side: str, expected: list[int]) -> None:
    units = [
        unit(0, "reject", reward=0.9),
        unit(1, "accept", reward=0.9),
        unit(2, "accept", reward=0.3),
        unit(3, "accept", reward=-0.1),
        unit(4, "fix", reward=0.2),
        unit(5, "accept", name=0.0),
    ]
    assert [one.item for one in disagreements(units, "reward", 0.8, side)] == expected  # type: ignore[arg-type]


pages = pytest.mark.django_db


@pytest.fixture
def settled(project: Project, bob: User) -> Queue:
    """Sixteen items; people accept those that score 0.8 or more, except the first and the last, and want two fixed."""
    dataset = dataset_of(project, examples()[:16])
    for place, one in enumerate(dataset.trajectories.all()):
        Trajectory.objects.filter(pk=one.pk).update(reward=place / 15, validity=place / 15, name=1.0)
    queue = queue_to_review(project, dataset.trajectories.all())
    for place, item in enumerate(queue.items.all()):
        verdict = "accept" if place >= 12 else "fix" if place in (5, 6) else "reject"
        verdict = {0: "accept", 15: "reject"}.get(place, verdict)
        settle(item, verdict)
        review(item, bob, verdict)
    return queue


@pages
def test_settled_verdicts_and_reviews_are_held_against_the_reward(project: Project, settled: Queue) -> None:
    units = list_judged_trajectories(project)
    assert len(units) == 16 and {*units[0].scores} >= {"reward", "validity", "name"}
    assert [one.verdict for one in list_judged_trajectories(project, basis="reviews")] == [one.verdict for one in units]
    assert len(list_judged_trajectories(project, fix=False)) == 14
    best = annotator(units).best
    assert best.threshold == pytest.approx(12 / 15) and best.percent.value == pytest.approx(14 / 16)
    settled.items.update(state="open")
    assert list_judged_trajectories(project) == []


@pages
def test_the_page_tells_agreement_part_by_part_and_lists_where_they_part(
    project: Project, settled: Queue, victor: User, as_user: SignIn
) -> None:
    client, url = as_user(victor), reverse("reward-annotator", args=project.path)
    text = client.get(url).content.decode()
    assert all(part.capitalize() in text for part in PARTS[1:]) and "Total reward: by threshold" in text
    assert "Disagreements: 2" in text and "Create queue" not in text
    for address in links(text, "/datasets/"):
        assert client.get(address).status_code == 200
    text = client.get(url, {"at": "0.1", "side": "low", "fix": "out", "basis": "reviews", "part_of": "name"}).content
    assert "No disagreements at threshold 0.100" in text.decode()
    assert client.get(url, {"at": "nan", "side": "?", "part_of": "?", "queue": ""}).status_code == 200
    assert client.get(url, {"queue": 7}).status_code == 404


def links(text: str, inside: str) -> Sequence[str]:
    return [part.split('"')[0] for part in text.split('href="') if inside in part.split('"')[0]][:3]


@pages
def test_a_queue_is_made_of_the_disagreements_in_their_order(
    project: Project, settled: Queue, mary: User, as_user: SignIn
) -> None:
    client, url = as_user(mary), reverse("disagreement-queue", args=project.path)
    answer = client.post(url, {"at": "0.8", "side": "", "part_of": "reward", "basis": "settled"}, follow=True)
    assert "has 2 trajectories to review again" in answer.content.decode()
    made = Queue.objects.get(number=2)
    assert made.sampling == {
        **{"how": "disagreements", "n": 2, "part": "reward", "side": "", "basis": "settled", "fix": True},
        "threshold": 0.8,
    }
    assert [item.trajectory.reward for item in made.items.all()] == [0.0, 1.0]
    assert read_schema(made.schema) and made.created_by == mary
    text = client.post(url, {"at": "0", "side": "low"}, follow=True).content.decode()
    assert "nothing to put in a queue" in text and Queue.objects.count() == 2


@pages
def test_a_trajectory_that_was_judged_twice_is_in_such_a_queue_once(
    project: Project, settled: Queue, mary: User
) -> None:
    again = queue_to_review(project, Trajectory.objects.all())
    for item in again.items.all():
        settle(item, "accept")
    found = disagreements(list_judged_trajectories(project), "reward", 0.8)
    made = queue_of(project, mary, found, {})
    assert made.items.count() == len({one.trajectory for one in found}) < len(found)


@pages
def test_a_project_without_verdicts_says_what_it_needs(project: Project, victor: User, as_user: SignIn) -> None:
    client, url = as_user(victor), reverse("reward-annotator", args=project.path)
    assert "No queues yet" in client.get(url).content.decode()
    queue_to_review(project, dataset_of(project, examples()[:2]).trajectories.all())
    assert "Nothing to compare yet" in client.get(url).content.decode()
