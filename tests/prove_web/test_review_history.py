"""The history of an item records each decision, and a notification goes to those whom an adjudicator overrules."""

from __future__ import annotations

from collections.abc import Callable

from django.test import Client

from prove_web.accounts.models import Project, User
from prove_web.review.create_queue import change
from prove_web.review.history import history
from prove_web.review.models import Item, Notification, Queue
from prove_web.review.review_services import finish, undo

from .reviewed import given, queue_of


def said(user: User) -> list[str]:
    rows = Notification.objects.filter(user=user, text__contains="adjudicated item").order_by("pk")
    return list(rows.values_list("text", flat=True))


def decisions(item: Item) -> list[tuple[str, str, bool]]:
    return [(line.decision.state, line.decision.verdict, line.decision.adjudicated) for line in history(item)]


def answer(item: Item, user: User, verdict: str, **rest: bool) -> None:
    from prove_web.review.review_services import Submission, get_user_review

    before = get_user_review(item, user, rest.get("adjudicates", False))
    submission = given(item, user, verdict)
    finish(item, user, Submission(submission.read, before.revision if before else 0, 1.0), **rest)


def test_whom_an_adjudicator_overrules_hears_of_it_and_nobody_else(
    project: Project, mary: User, bob: User, alice: User
) -> None:
    item = queue_of(project, mary, items=1, reviewers=2).items.get()
    answer(item, bob, "reject")
    answer(item, mary, "fix")
    answer(item, alice, "fix", adjudicates=True)
    assert said(bob) == ["alice adjudicated item 1 of “First look” as fix; your review was reject"]
    assert not said(mary) and not said(alice)
    assert Notification.objects.get(user=bob, text__contains="adjudicated item").url == item.get_absolute_url()


def test_an_adjudicator_hears_when_another_settles_it_again(
    project: Project, mary: User, bob: User, alice: User
) -> None:
    item = queue_of(project, alice, items=1, reviewers=1).items.get()
    answer(item, bob, "reject")
    answer(item, mary, "fix", adjudicates=True)
    Notification.objects.all().delete()
    answer(item, alice, "reject", adjudicates=True)
    assert said(mary) == ["alice adjudicated item 1 of “First look” as reject; you had adjudicated it as fix"]
    assert not said(bob), "whose word it is now"
    assert decisions(item) == [("settled", "reject", False), ("settled", "fix", True), ("settled", "reject", True)]


def test_the_same_verdict_twice_is_one_decision(project: Project, mary: User, bob: User, alice: User) -> None:
    item = queue_of(project, mary, items=1, reviewers=1).items.get()
    answer(item, bob, "reject")
    answer(item, alice, "fix", adjudicates=True)
    answer(item, alice, "fix", adjudicates=True)
    assert len(decisions(item)) == 2 and len(said(bob)) == 1


def test_withdrawn_reviews_and_added_reviewers_are_in_the_history(project: Project, mary: User, bob: User) -> None:
    queue = queue_of(project, mary, items=1, reviewers=1)
    item = queue.items.get()
    answer(item, bob, "reject")
    undo(item, bob)
    answer(item, bob, "fix")
    change(Queue.objects.get(), mary, reviewers=2)
    assert [state for state, _, _ in decisions(item)] == ["settled", "open", "settled", "open"]
    assert history(item)[-1].decision.by == mary and not said(bob)


def test_the_history_is_on_the_page_of_the_item_and_not_before_ones_own_review(
    project: Project, mary: User, bob: User, alice: User, as_user: Callable[[User], Client]
) -> None:
    item = queue_of(project, alice, items=1, reviewers=1).items.get()
    answer(item, mary, "reject")
    answer(item, alice, "fix", adjudicates=True)
    for page in (item.get_absolute_url(), f"{item.get_absolute_url()}adjudicate/"):
        response = as_user(mary).get(page)
        assert response.status_code == 200, page
        assert "Adjudicated as" in response.text and "(was reject) by alice" in response.text
    assert "(was reject)" not in as_user(bob).get(item.get_absolute_url()).text
