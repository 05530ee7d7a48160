"""Where reviewers disagree: laws over random answers, beside scikit-learn's and krippendorff's figures; the page."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import krippendorff
import numpy as np
from django.test import Client
from django.urls import reverse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, cohen_kappa_score, confusion_matrix

from prove_web.accounts.models import Project, User
from prove_web.review.agreement import ENOUGH, figures
from prove_web.review.confusion import cells, confusion, find_disputed_units, rank_reviewers_by_agreement
from prove_web.review.label_matrix import Answers, Facet
from prove_web.review.models import Item

from .examples import dataset_of, examples
from .judged import queue_of, review

VALUES = ("accept", "reject", "fix")
FACET = Facet("verdict", "Verdict", "choice", "trajectory", VALUES)
UNITS = st.lists(
    st.dictionaries(st.integers(1, 4), st.integers(0, 2), min_size=1, max_size=4), min_size=ENOUGH, max_size=40
)


def answers_of(units: list[dict[int, int]]) -> Answers:
    return Answers(FACET, {(at, ""): labels for at, labels in enumerate(units, 1)})


@settings(max_examples=60, deadline=None)
@given(UNITS)
def test_the_confusion_matrix_sums_over_every_pair_of_people(units: list[dict[int, int]]) -> None:
    found, expected = confusion(answers_of(units)), np.zeros((3, 3), dtype=int)
    for one, other in combinations(range(1, 5), 2):
        both = [(labels[one], labels[other]) for labels in units if one in labels and other in labels]
        if both:
            mine, theirs = zip(*both, strict=True)
            table = confusion_matrix(mine, theirs, labels=[0, 1, 2])
            expected += table + table.T
    assert (found == expected).all()
    for row, row_cells in zip(found, cells(found), strict=True):
        assert abs(sum(one.share for one in row_cells) - bool(row.sum())) < 1e-9
    pairs = sum(len(labels) * (len(labels) - 1) // 2 for labels in units)
    assert sum(one.count for at, row in enumerate(cells(found)) for one in row[at:]) == pairs


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=ENOUGH, max_size=60))
def test_of_two_people_each_agrees_as_libraries_say_and_coefficients_are_theirs(pairs: list[tuple[int, int]]) -> None:
    answers = answers_of([{1: one, 2: other} for one, other in pairs])
    mine, theirs = zip(*pairs, strict=True)
    equal = accuracy_score(mine, theirs)
    for one in rank_reviewers_by_agreement(answers):
        assert one.units == len(pairs) and abs(one.agrees.value - equal) < 1e-9
        assert one.agrees.low is None or one.agrees.low <= equal <= one.agrees.high
        assert (one.instead is None) == (equal == 1)
    agreement = figures(answers)
    if len({*mine, *theirs}) == 1:
        assert agreement.unmeasurable and not agreement.percent
        return
    assert abs(agreement.percent.value - equal) < 1e-9
    if agreement.kappa:
        assert abs(agreement.kappa.value - cohen_kappa_score(mine, theirs, labels=[0, 1, 2])) < 1e-9
    if agreement.alpha:
        expected = krippendorff.alpha([mine, theirs], level_of_measurement="nominal")
        assert abs(agreement.alpha.value - expected) < 1e-9


@settings(max_examples=60, deadline=None)
@given(UNITS, st.sets(st.integers(1, 40)))
def test_what_is_disputed_is_in_order_known_and_never_agreed_on(units: list[dict[int, int]], items: set[int]) -> None:
    found = find_disputed_units(answers_of(units), items)
    assert [one.agrees for one in found] == sorted(one.agrees for one in found)
    for one in found:
        labels = units[one.unit[0] - 1]
        assert one.unit[0] in items and len({*labels.values()}) > 1 and one.agrees < 1
        assert dict(one.given) == {VALUES[value]: [*labels.values()].count(value) for value in labels.values()}


def test_the_page_shows_the_picture_who_stands_apart_and_what_about(
    project: Project, mary: User, bob: User, victor: User, as_user: Callable[[User], Client]
) -> None:
    rows = list(dataset_of(project, examples()[:12]).trajectories.all())
    queue = queue_of(project, rows, blind=True)
    for item in queue.items.all():
        review(item, mary, "accept")
        review(item, bob, "reject" if item.position < 4 else "accept")
    queue.items.filter(position__gt=1).update(state=Item.State.CONFLICT)
    page = as_user(victor).get(reverse("agreement", args=project.path), {"question": "verdict"})
    assert page.status_code == 200 and "reject instead of accept" in page.text
    counts = {(one, other): cell.count for one, row in page.context["confusion"] for other, cell in row}
    assert counts["accept", "accept"] == 9 and counts["accept", "reject"] == counts["reject", "accept"] == 3
    assert [one.units for _, one in page.context["people"]] == [12, 12]
    positions = [item.position for item, _, _ in page.context["disputes"]]
    assert positions == [2, 3], "the first is still open in a blind queue, so its answers are told to nobody"


def test_a_page_of_answers_that_nobody_shares_says_so(
    project: Project, mary: User, victor: User, as_user: Callable[[User], Client]
) -> None:
    queue = queue_of(project, list(dataset_of(project, examples()[:1]).trajectories.all()))
    review(queue.items.get(), mary, "accept")
    page = as_user(victor).get(reverse("agreement", args=project.path))
    assert "No disagreements." in page.text
