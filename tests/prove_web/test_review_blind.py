"""A reviewer of a blind queue sees less of a trajectory on other pages until their own review is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from django.test import Client
from django.urls import reverse

from prove_web.accounts.models import Project, User
from prove_web.review.acceptance import accept
from prove_web.review.create_queue import make_queue
from prove_web.review.models import Item, Queue, Review
from prove_web.review.schema import PLAIN
from training_worker.datasets import drift

from .examples import abstention, chain, dataset_of


def test_the_reward_is_hidden_from_a_blind_reviewer_until_their_review_is_done(
    project: Project, mary: User, bob: User, victor: User, as_user: Callable[[User], Client]
) -> None:
    (one,) = dataset_of(project, [chain()]).trajectories.all()
    queue = make_queue(project, mary, [one.pk], name="Q", schema=PLAIN.model_dump(mode="json"), reviewers=2)
    marker = 'id="reward"'
    page, bobs = one.get_absolute_url(), as_user(bob)
    assert marker not in bobs.get(page).text and "what-if/" not in bobs.get(page).text
    assert marker in as_user(mary).get(page).text and marker in as_user(victor).get(page).text
    done = {"state": Review.State.DONE, "answers": {"verdict": "accept"}}
    Review.objects.create(item=queue.items.get(), reviewer=bob, **done)
    assert marker in bobs.get(page).text


def test_who_reviews_blind_does_not_see_an_acceptance_and_accepts_only_in_the_review(
    project: Project, mary: User, bob: User, as_user: Callable[[User], Client]
) -> None:
    (one,) = dataset_of(project, [chain()]).trajectories.all()
    accept(one, mary)
    queue = make_queue(project, mary, [one.pk], name="Q", schema=PLAIN.model_dump(mode="json"), reviewers=2)
    path, bobs = [*project.path, one.dataset.number, one.example], as_user(bob)
    for page in (
        bobs.get(reverse("acceptance", args=path)),
        bobs.post(reverse("trajectory-accept", args=path), {"reason": "I say so"}),
    ):
        assert "mary" not in page.text and "digest" not in page.text and "in a blind queue" in page.text
    assert one.acceptances.count() == 1
    text = as_user(mary).get(reverse("acceptance", args=path)).text
    assert "mary" in text and "digest" in text
    Review.objects.create(item=queue.items.get(), reviewer=bob, state=Review.State.DONE, answers={"verdict": "accept"})
    assert "mary" in bobs.get(reverse("acceptance", args=path)).text


def test_corrections_of_others_are_hidden_before_ones_own_review(
    project: Project, mary: User, bob: User, as_user: Callable[[User], Client]
) -> None:
    (one,) = dataset_of(project, [chain()]).trajectories.all()
    (other,) = dataset_of(project, [replace(abstention(), id="hand-000001")]).trajectories.all()
    other.parent = one
    other.save()
    queue = make_queue(project, mary, [one.pk], name="Q", schema=PLAIN.model_dump(mode="json"), reviewers=2)
    page, bobs = queue.items.get().get_absolute_url(), as_user(bob)
    assert other.example not in bobs.get(page).text
    assert other.example not in bobs.get(one.get_absolute_url()).text
    Review.objects.create(item=queue.items.get(), reviewer=bob, state=Review.State.DONE, answers={"verdict": "fix"})
    assert other.example in bobs.get(page).text and other.example in bobs.get(one.get_absolute_url()).text


def test_a_blind_reviewer_sees_that_the_reward_drifted_and_not_the_reward(
    project: Project, mary: User, bob: User, as_user: Callable[[User], Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    (one,) = dataset_of(project, [chain()]).trajectories.all()
    queue = make_queue(project, mary, [one.pk], name="Q", schema=PLAIN.model_dump(mode="json"))
    perfect = drift.compute_ground_truth_reward
    monkeypatch.setattr(drift, "compute_ground_truth_reward", lambda example: replace(perfect(example), total=0.125))
    page, sent = queue.items.get().get_absolute_url(), {"action": "complete", "a-verdict": "accept"}
    text = as_user(bob).post(page, sent).text
    assert "The reward differs." in text and "0.125" not in text and "The reward was" not in text
    Queue.objects.update(blind=False)
    assert "The reward was" in as_user(bob).post(page, sent).text


def test_the_verdicts_of_an_open_item_of_a_blind_queue_are_not_beside_the_reward(
    project: Project, mary: User, bob: User, as_user: Callable[[User], Client]
) -> None:
    (one,) = dataset_of(project, [chain()]).trajectories.all()
    one.reward = 1.3
    one.save()
    queue = make_queue(project, mary, [one.pk], name="Q", schema=PLAIN.model_dump(mode="json"), reviewers=2)
    item = queue.items.get()
    Review.objects.create(item=item, reviewer=mary, state=Review.State.DONE, answers={"verdict": "reject"})
    here, query = reverse("reward-annotator", args=project.path), {"basis": "reviews", "at": "0.5"}
    assert as_user(bob).get(here, query).context["params"].units == []
    Item.objects.update(state=Item.State.CONFLICT)
    assert [unit.verdict for unit in as_user(bob).get(here, query).context["params"].units] == ["reject"]
