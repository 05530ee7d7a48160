"""Agreement of reviewers: the figures of the literature, laws that hold for all answers, and the page of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import krippendorff
import numpy as np
import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import given, settings
from hypothesis import strategies as st

from prove_web.accounts.models import Project, User
from prove_web.review.agreement import ENOUGH, Figures, figures, over_time, pairs, summary
from prove_web.review.coefficients import (
    Counts,
    Estimate,
    ac1,
    alpha,
    alphas,
    coincidences,
    flatten_tables,
    interpret_coefficient,
    kappa,
    kappas,
    pairable,
    percent,
)
from prove_web.review.label_matrix import Answers, Facet, collect_answers
from prove_web.review.models import Review
from prove_web.review.schema import PLAIN

from .examples import dataset_of, examples
from .judged import queue_of, review

SignIn = Callable[[User], Client]
_ = np.nan
FOUR = [  # Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", part C: four observers, twelve units
    [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
    [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
]
ABSTRACTORS = [[13, 0, 0], [0, 20, 7], [0, 4, 56]]  # Gwet 2014, two abstractors on ectopic pregnancies
SKEWED = [[118, 5], [2, 0]]  # Gwet 2002, "Kappa statistic is not satisfactory", nearly all are of one kind


def counts_of(ratings: Any, size: int) -> Counts:
    """Count ratings from 1 as a table of units by categories."""
    return np.array([[np.sum(unit == value) for value in range(1, size + 1)] for unit in np.array(ratings).T])


def of_table(table: Any) -> Counts:
    size = len(table)
    unit = np.eye(size, dtype=int)
    return np.array([unit[a] + unit[b] for a in range(size) for b in range(size) for _ in range(table[a][b])])


def test_krippendorffs_example_gives_his_figures() -> None:
    counts = counts_of(FOUR, 5)
    assert alpha(counts).value == pytest.approx(0.743, abs=5e-4)
    assert alpha(counts, "ordinal").value == pytest.approx(0.815, abs=5e-4)


def test_gwets_examples_give_his_figures() -> None:
    four = ac1(counts_of(FOUR, 5))  # the vignette of his package: 0.77544, (0.461, 1)
    assert four.value == pytest.approx(0.77544, abs=5e-6)
    assert four.low == pytest.approx(0.461, abs=5e-4) and four.high == 1
    two = of_table(ABSTRACTORS)
    assert kappa(np.array(ABSTRACTORS)).value == pytest.approx(0.7964094, abs=5e-8)
    assert ac1(two).value == pytest.approx(0.8493305, abs=5e-8)
    assert percent(two).value == pytest.approx(0.89)
    skewed = of_table(SKEWED)
    assert kappa(np.array(SKEWED)).value == pytest.approx(-0.0234, abs=5e-5)
    assert ac1(skewed).value == pytest.approx(0.9408, abs=5e-5)
    assert percent(skewed).value == pytest.approx(0.944)


@pytest.mark.parametrize(
    "seed, units, people, size, value, low, high",
    [  # by irrCAC 0.4.4 on the same answers
        (1, 30, 2, 2, 0.50221239, 0.01727259, 0.98715219),
        (2, 40, 3, 3, 0.27069782, 0.05782404, 0.48357159),
        (3, 60, 4, 5, 0.29003988, 0.16972529, 0.41035446),
        (4, 25, 2, 4, 0.67060618, 0.30825658, 1.0),
        (5, 200, 3, 2, 0.36744006, 0.24740102, 0.4874791),
    ],
)
def test_ac1_is_that_of_irrcac(
    seed: int, units: int, people: int, size: int, value: float, low: float, high: float
) -> None:
    found = ac1(drawn(seed, units, people, size))
    assert (found.value, found.low, found.high) == pytest.approx((value, low, high), abs=5e-7)


def drawn(seed: int, units: int, people: int, size: int) -> Counts:
    """Draw answers that agree in part; some of them are missing."""
    state = np.random.RandomState(seed)
    truth = state.randint(0, size, units)
    given = np.where(state.rand(units, people) < 0.6, truth[:, None], state.randint(0, size, (units, people)))
    there = state.rand(units, people) < 0.8
    return np.array([[np.sum(given[i][there[i]] == v) for v in range(size)] for i in range(units) if there[i].any()])


COUNTS = st.integers(2, 4).flatmap(
    lambda size: st.lists(st.lists(st.integers(0, 3), min_size=size, max_size=size), min_size=2, max_size=30).map(
        np.array
    )
)


@settings(max_examples=60, deadline=None)
@given(counts=COUNTS, level=st.sampled_from(["nominal", "ordinal"]))
def test_alpha_and_what_is_resampled_are_those_of_the_package(counts: Counts, level: Any) -> None:
    found = alpha(counts, level)
    usable = pairable(counts)
    if found is None:
        assert not len(usable) or np.count_nonzero(usable.sum(axis=0)) < 2
        return
    theirs = krippendorff.alpha(value_counts=usable, level_of_measurement=level)
    again = alphas(flatten_tables(coincidences(usable).sum(axis=0)[None]), counts.shape[1], level)
    assert found.value == pytest.approx(theirs) == pytest.approx(again[0])


@settings(max_examples=60, deadline=None)
@given(counts=COUNTS, order=st.randoms(use_true_random=False))
def test_the_order_of_units_changes_nothing(counts: Counts, order: Any) -> None:
    shuffled = [*counts]
    order.shuffle(shuffled)
    for figure in (percent, alpha, ac1):
        assert close(figure(counts), figure(np.array(shuffled)))


def close(one: Estimate | None, other: Estimate | None) -> bool:
    if one is None or other is None:
        return one is other
    parts = [(one.value, other.value), (one.low, other.low), (one.high, other.high)]
    return all(a is b is None or a == pytest.approx(b, abs=1e-9) for a, b in parts)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=40))
def test_who_is_the_first_of_two_changes_nothing(rows: list[tuple[int, int]]) -> None:
    table = np.zeros((3, 3), dtype=int)
    for one, other in rows:
        table[one, other] += 1
    for level in ("nominal", "ordinal"):
        one, other = kappa(table, level), kappa(table.T.copy(), level)
        assert (one is None) is (other is None)
        assert one is None or one.value == pytest.approx(other.value) == pytest.approx(kappas(table[None], level)[0])


@settings(max_examples=40, deadline=None)
@given(answers=st.lists(st.tuples(st.integers(0, 3), st.integers(2, 4)), min_size=2, max_size=30))
def test_perfect_agreement_is_one_and_no_interval_pretends_to_know_more(answers: list[tuple[int, int]]) -> None:
    counts = np.array([np.eye(4, dtype=int)[value] * people for value, people in answers])
    assert percent(counts).value == ac1(counts).value == pytest.approx(1)
    assert percent(counts).low < 1 and ac1(counts).low is None
    several = len({value for value, _ in answers}) > 1
    assert alpha(counts) == (Estimate(pytest.approx(1)) if several else None)


def test_an_interval_holds_the_figure_and_narrows_as_units_come() -> None:
    widths = []
    for times in (1, 4, 16):
        counts = np.repeat(of_table(ABSTRACTORS), times, axis=0)
        for figure in (percent(counts), alpha(counts), ac1(counts), kappa(np.array(ABSTRACTORS) * times)):
            assert figure.low < figure.value < figure.high
            widths.append(figure.high - figure.low)
    assert all(widths[at] > 1.7 * widths[at + 4] for at in range(8))


def test_the_words_are_those_of_landis_and_koch() -> None:
    given = (-0.1, 0.0, 0.2, 0.21, 0.5, 0.61, 0.81, 1.0)
    words = ["poor", "slight", "slight", "fair", "moderate", "substantial", "almost perfect", "almost perfect"]
    assert [interpret_coefficient(value) for value in given] == words


pages = pytest.mark.django_db


@pytest.fixture
def reviewed(project: Project, bob: User, mary: User, alice: User) -> Project:
    """Twenty-four items, two reviewers each; Bob and Mary differ on every fourth. Alice adjudicates, and drafts."""
    queue = queue_of(project, dataset_of(project, examples()[:24]).trajectories.all())
    for place, item in enumerate(queue.items.all()):
        differs = place % 4 == 0
        answers = {"verdict": "accept", "faults": ["wrong tool"], "quality": 1 + place % 5}
        answers["calls"] = {"1": {"right": "yes"}, "2": {"right": "no" if differs else "yes"}}
        review(item, bob, answers, days=place)
        other = {
            "verdict": "reject" if differs else "accept",
            "quality": 1 + place % 5,
            "calls": {"1": {"right": "yes"}},
        }
        review(item, mary, other, days=place)
        review(item, alice, "reject", adjudicates=True)
        if place < 3:
            review(item, alice, "reject", state=Review.State.DRAFT)
    return project


def answers_to(project: Project, key: str) -> Answers:
    return next(one for one in collect_answers(project) if one.facet.key == key)


@pages
def test_complete_reviews_that_do_not_adjudicate_are_counted_question_by_question(reviewed: Project) -> None:
    by_key = {facet.key: one for facet, one in summary(collect_answers(reviewed))}
    verdict = by_key["verdict"]
    assert (verdict.units, verdict.answers, verdict.people) == (24, 48, 2)
    assert verdict.percent.value == pytest.approx(0.75)
    assert by_key["quality"].alpha.value == pytest.approx(1)
    assert by_key["faults:wrong tool"].percent.value == 0 and by_key["faults:wrong order"].percent is None
    assert by_key["right"].units == 24, "only the first call was answered by both"
    assert len(by_key) == 2 + len(PLAIN.questions[1].choices) + 1


def of_two(answer: Callable[[int], int], facet: Facet) -> Answers:
    """Return twelve units that two people answered alike."""
    return Answers(facet, {(unit, ""): {1: answer(unit), 2: answer(unit)} for unit in range(12)})


TAG = Facet("faults", "What is wrong", "tags", "trajectory", ("no", "yes"), tag="wrong order")
CHOICE = Facet("verdict", "Verdict", "choice", "trajectory", ("accept", "reject"))


def test_answers_that_are_all_the_same_measure_no_agreement() -> None:
    for facet, answer, why in (
        (TAG, 0, "Not measurable: nobody ticked it."),
        (TAG, 1, "Not measurable: everybody always ticked it."),
        (
            CHOICE,
            1,
            "Not measurable: every answer is “reject”.",
        ),
    ):
        answers = of_two(lambda unit, same=answer: same, facet)
        for found in (figures(answers), pairs(answers)[0].figures):
            assert found == Figures(units=12, answers=24, people=2, unmeasurable=why) and not found.word
    varied = figures(of_two(lambda unit: unit % 2, TAG))
    assert varied.word == "almost perfect" and not varied.unmeasurable


@pages
def test_the_page_does_not_praise_a_tag_that_nobody_ticked(reviewed: Project, victor: User, as_user: SignIn) -> None:
    text = as_user(victor).get(reverse("agreement", args=reviewed.path), {"question": "faults:wrong order"})
    text = text.content.decode()
    row = text.split("wrong order</a>", 1)[1].split("</tr>", 1)[0]
    assert "Not measurable: nobody ticked it." in row and "perfect" not in row and "1.00" not in row
    pairs, people = (text.split(f'id="{part}"')[1].split("</section>")[0] for part in ("by-pair", "apart"))
    assert "not measurable, n 24" in pairs and "1.00" not in pairs
    assert "Not measurable: nobody ticked it." in people and "1.00" not in people


@pages
def test_two_people_are_compared_and_weeks_and_days_add_up(reviewed: Project, bob: User, mary: User) -> None:
    verdict = answers_to(reviewed, "verdict")
    (pair,) = pairs(verdict)
    assert {pair.one, pair.other} == {bob.pk, mary.pk}
    assert pair.figures == figures(verdict)
    for by, few in (("week", False), ("day", True)):
        periods = over_time(verdict, by)
        assert sum(one.figures.units for one in periods) == 24
        assert all(one.start.weekday() == 0 for one in periods) or by == "day"
        assert all(one.figures.enough is (one.figures.units >= ENOUGH) for one in periods)
        assert all(one.figures.percent is None for one in periods if not one.figures.enough) and (
            not few or not any(one.figures.enough for one in periods)
        )


@pages
def test_somebody_who_left_still_counts_among_answers_and_stands_beside_nobody(reviewed: Project, mary: User) -> None:
    before = figures(answers_to(reviewed, "verdict"))
    mary.delete()
    verdict = answers_to(reviewed, "verdict")
    assert figures(verdict).percent == before.percent and pairs(verdict) == []


@pages
def test_answers_of_no_known_form_are_left_out(project: Project, bob: User) -> None:
    queue = queue_of(project, dataset_of(project, examples()[:1]).trajectories.all())
    nonsense = {"verdict": "perhaps", "quality": 9, "faults": "wrong tool", "calls": ["x"], "turns": None}
    review(queue.items.get(), bob, nonsense)
    given = {one.facet.key: one.given for one in collect_answers(project)}
    assert not given["verdict"] and not given["quality"] and not given["right"]
    assert [*given["faults:wrong tool"].values()] == [{bob.pk: 0}]


@pages
def test_the_page_tells_figures_pairs_and_course_with_n(reviewed: Project, victor: User, as_user: SignIn) -> None:
    client, url = as_user(victor), reverse("agreement", args=reviewed.path)
    text = client.get(url).content.decode()
    for words in ("0.75", "s alpha", "bob", "mary", "n 24", "too few</td>", "Definitions"):
        assert words in text
    text = client.get(url, {"question": "quality", "by": "day", "as": "kappa", "queue": 1}).content.decode()
    assert "By pair: How good an example" in text and "s kappa of each pair" in text
    assert client.get(url, {"queue": 9}).status_code == client.get(url, {"queue": "x"}).status_code == 404
    assert client.get(url, {"question": "nothing", "by": "year", "as": "luck"}).status_code == 200


@pages
def test_a_project_without_reviews_says_what_it_needs(project: Project, victor: User, as_user: SignIn) -> None:
    client, url = as_user(victor), reverse("agreement", args=project.path)
    assert "No queues yet" in client.get(url).content.decode()
    queue_of(project, dataset_of(project, examples()[:2]).trajectories.all())
    assert "No complete reviews yet" in client.get(url).content.decode()


@pages
def test_the_page_takes_as_many_queries_whatever_was_reviewed(
    reviewed: Project, victor: User, as_user: SignIn, django_assert_max_num_queries: Any
) -> None:
    client = as_user(victor)
    with django_assert_max_num_queries(20):
        client.get(reverse("agreement", args=reviewed.path))
