"""Review with odd schemas, timing and input: nothing breaks, nothing is lost, and every message is true."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from hypothesis import given as drawn
from hypothesis import strategies as st

from prove_web.accounts.models import Project, User
from prove_web.live.models import Job, State
from prove_web.review import forms, review_services
from prove_web.review.create_queue import assign, change, make_queue
from prove_web.review.models import Acceptance, Item, Queue, Review
from prove_web.review.question_forms import Editor
from prove_web.review.schema import PLAIN, BadSchema, LabelSchema, Question, read_schema
from prove_web.trajectories.models import Trajectory
from training_worker.core.trajectory import WorldRef

from .examples import abstention, chain, dataset_of
from .reviewed import given, queue_of, saying

SignIn = Callable[[User], Client]
VERDICT = PLAIN.questions[0].model_dump(mode="json")
HUGE = 2**63


def at(name: str, queue: Queue, *rest: Any) -> str:
    return reverse(name, args=[*queue.project.path, queue.number, *rest])


def gone(project: Project) -> Any:
    """Return a data set of one trajectory that always drifts, because its server is gone."""
    return dataset_of(project, [replace(chain(), world=WorldRef(chain().world.seed, ("steam_engine",)))])


@pytest.mark.parametrize("name", ["turns", "calls", "corrected"])
def test_a_question_cannot_have_a_name_that_other_answers_use(name: str) -> None:
    with pytest.raises(BadSchema, match="is reserved"):
        read_schema({"questions": [VERDICT, {"name": name, "title": "How many", "kind": "rating"}]})


@pytest.mark.parametrize("odd", [{"kind": "tags"}, {"scope": "call"}, {"scope": "turn"}, {"required": False}])
def test_the_verdict_is_a_required_single_choice_about_the_trajectory(odd: dict[str, Any]) -> None:
    with pytest.raises(BadSchema, match="a required single choice"):
        read_schema({"questions": [{**VERDICT, **odd}]})


@pytest.mark.parametrize("choice", ["", "  ", "a\nb", "a\0b"])
def test_a_choice_that_no_form_could_send_is_none(choice: str) -> None:
    with pytest.raises(BadSchema, match="in one line"):
        read_schema({"questions": [VERDICT, {"name": "tone", "title": "Tone", "choices": ["dry", choice]}]})


WORDS = st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=12).filter(str.strip)
QUESTIONS = st.builds(
    Question,
    name=st.from_regex(r"[a-d][a-z0-9_]{2}", fullmatch=True),
    title=WORDS,
    kind=st.sampled_from(["choice", "tags", "rating", "text"]),
    scope=st.sampled_from(["trajectory", "turn", "call"]),
    choices=st.lists(WORDS, min_size=2, max_size=4, unique=True).map(tuple),
    most=st.integers(2, 10),
    required=st.booleans(),
    help=WORDS,
)


@drawn(questions=st.lists(QUESTIONS, max_size=3, unique_by=lambda one: one.name))
def test_the_editor_holds_any_questions_as_they_are(questions: list[Question]) -> None:
    schema = LabelSchema(questions=(*PLAIN.questions[:1], *questions))
    editor = Editor.from_schema(schema)
    assert editor.schema() == schema
    switched = replace(editor, text=editor.text or "").switch_mode()
    assert switched.schema() == schema


def test_a_begun_queue_keeps_its_questions_to_the_letter_when_its_name_is_changed(
    project: Project, mary: User, bob: User, as_user: SignIn
) -> None:
    choices = ["yes, wholly", "no"]
    schema = {"questions": [VERDICT, {"name": "fair", "title": "Fair?", "choices": choices}]}
    schema = read_schema(schema).model_dump(mode="json")
    queue = queue_of(project, mary, schema=schema)
    item = queue.items.get(position=1)
    review_services.save_draft(item, bob, given(item, bob, a_fair="yes, wholly"))
    form = {"name": "Renamed", "reviewers": "1", "hold_minutes": "15", "how": "all"}
    assert as_user(mary).post(at("queue-edit", queue), form).status_code == 302
    queue.refresh_from_db()
    assert (queue.name, queue.schema) == ("Renamed", schema)


def test_questions_that_someone_answered_meanwhile_are_not_changed(project: Project, mary: User, bob: User) -> None:
    queue = queue_of(project, mary)
    item = queue.items.get(position=1)
    review_services.save_draft(item, bob, given(item, bob, comment="Begun"))
    change(queue, mary, schema={"questions": [VERDICT]}, name="Renamed")
    queue.refresh_from_db()
    assert (queue.name, queue.schema) == ("Renamed", PLAIN.model_dump(mode="json"))


def test_items_are_dealt_to_as_many_as_they_take_now(
    project: Project, mary: User, alice: User, bob: User, as_user: SignIn
) -> None:
    queue = queue_of(project, mary, 2, people=[bob])
    both = [str(alice.pk), str(bob.pk)]
    form = {"name": "Q", "reviewers": "2", "hold_minutes": "15", "people": both}
    as_user(mary).post(at("queue-edit", queue), form)
    assert [item.assigned.count() for item in queue.items.all()] == [2, 2]
    as_user(mary).post(at("queue-edit", queue), {**form, "reviewers": "1"})
    assert [item.assigned.count() for item in queue.items.all()] == [1, 1]
    assign(queue, [])
    assert not queue.items.filter(assigned__isnull=False).exists()


def test_taking_back_a_review_leaves_what_drifted_to_an_adjudicator(
    project: Project, mary: User, alice: User, bob: User, as_user: SignIn
) -> None:
    queue = queue_of(project, mary, reviewers=1, dataset=gone(project))
    item = queue.items.get()
    review_services.finish(item, bob, given(item, bob, "reject"))
    assert review_services.finish(item, alice, given(item, alice, "accept")).extra
    assert as_user(bob).post(at("review-undo", queue), {"position": "1"}).status_code == 302
    item.refresh_from_db()
    assert (item.state, item.verdict) == (Item.State.CONFLICT, "")
    assert Review.objects.get(reviewer=bob).state == Review.State.DRAFT and not Acceptance.objects.exists()


def test_an_adjudicator_who_settles_as_before_takes_the_place_of_who_settled_since(
    project: Project, mary: User, alice: User, bob: User
) -> None:
    queue = queue_of(project, mary)
    item = queue.items.get(position=1)
    review_services.finish(item, bob, given(item, bob, "reject"))
    for user, verdict in ((mary, "reject"), (alice, "fix"), (mary, "reject")):
        before = review_services.get_user_review(item, user, adjudicates=True)
        sent = review_services.Submission(saying(item, verdict), before.revision if before else 0, 1.0)
        review_services.finish(item, user, sent, adjudicates=True)
        item.refresh_from_db()
        assert (item.settled_by, item.verdict) == (user, verdict)


def test_an_item_that_is_open_again_is_not_settled_by_an_adjudicator_who_was_at_it(
    project: Project, mary: User, bob: User, as_user: SignIn
) -> None:
    queue = queue_of(project, mary)
    item = queue.items.get(position=1)
    review_services.finish(item, bob, given(item, bob, "reject"))
    review_services.undo(item, bob)
    with pytest.raises(review_services.ReviewError, match="undid a review"):
        review_services.finish(item, mary, given(item, mary, "accept"), adjudicates=True)
    for action in ("draft", "complete"):
        form = {"action": action, "a-verdict": "fix", "comment": "Typed", "revision": "0"}
        page = at("review-adjudicate", queue, 1)
        response = as_user(mary).post(page, form, headers={"Accept": "application/json"})
        assert response.status_code == 409 and "still being reviewed" in response.json()["fault"]


def test_the_form_of_a_trajectory_of_many_calls_is_taken(
    project: Project, mary: User, bob: User, as_user: SignIn
) -> None:
    """Ten questions of each of thirty calls are more fields than a form usually has."""
    questions = [{"name": f"q{at}", "title": "?", "scope": "call", "choices": ["yes", "no"]} for at in range(10)]
    schema = read_schema({"questions": [VERDICT, *questions]})
    queue = queue_of(project, mary, schema=schema.model_dump(mode="json"), dataset=long(project, 30))
    fields = {f"c-{call}-q{at}": "yes" for call in range(1, 31) for at in range(10)}
    form = {"action": "draft", "revision": "0", **fields}
    response = as_user(bob).post(at("review", queue, 1), form, headers={"Accept": "application/json"})
    assert response.status_code == 200, response.text
    assert len(Review.objects.get().answers["calls"]) == 30


def long(project: Project, calls: int) -> Any:
    """Return a data set of one trajectory whose first step has so many calls."""
    example = chain()
    first = example.steps[0]
    many = replace(first, calls=first.calls[:1] * calls, observations=first.observations[:1] * calls)
    return dataset_of(project, [replace(example, steps=(many, *example.steps[1:]))])


@pytest.mark.parametrize("number", [0, HUGE - 1, HUGE, 10**40])
def test_numbers_that_are_nobodys_are_not_found(project: Project, mary: User, as_user: SignIn, number: int) -> None:
    queue, client = queue_of(project, mary), as_user(mary)
    for page in ("review", "review-adjudicate"):
        assert client.get(at(page, queue, number)).status_code == 404
    assert client.get(reverse("queue", args=[*project.path, number])).status_code == 404
    for name in ("agreement", "reward-annotator"):
        assert client.get(reverse(name, args=project.path), {"queue": str(number)}).status_code == 404
    trajectory = Trajectory.objects.first()
    path = [*project.path, trajectory.dataset.number, trajectory.example, number]
    assert client.get(reverse("comment-edit", args=path)).status_code == 404
    assert client.post(reverse("notifications-read"), {"notification": str(number)}).status_code == 404


@pytest.mark.long
@pytest.mark.parametrize("odd", [str(HUGE), "-1", "NaN", "٣", "a\0b"])
def test_odd_words_in_addresses_and_forms_break_no_page(
    project: Project, mary: User, as_user: SignIn, odd: str
) -> None:
    queue, client = queue_of(project, mary), as_user(mary)
    sent = odd.encode("utf-8", "replace").decode()
    queries = {
        at("queue", queue): ("page", "state", "verdict", "reviewer", "q"),
        at("review-next", queue): ("after",),
        at("adjudicate-next", queue): ("after",),
        reverse("queues", args=project.path): ("page",),
        reverse("queue-new", args=project.path): ("q", "dataset", "how"),
        reverse("agreement", args=project.path): ("question", "by", "as"),
        reverse("reward-annotator", args=project.path): ("at", "page", "side", "basis", "part_of", "fix"),
        reverse("notifications"): ("page", "show"),
    }
    for page, names in queries.items():
        for name in names:
            assert client.get(page, {name: sent}).status_code < 400, (page, name)
    posts = {
        at("review-undo", queue): ("position",),
        at("review", queue, 1): ("revision", "seconds", "comment", "reason", "action"),
        reverse("queue-new", args=project.path): ("n", "seed", "run", "people", "remove", "q-0-title", "questions"),
    }
    for page, names in posts.items():
        for name in names:
            assert client.post(page, {name: sent}).status_code < 500, (page, name)


def test_the_labels_of_a_question_named_like_a_column_stand_in_a_column_of_their_own(
    project: Project, mary: User, bob: User, as_user: SignIn
) -> None:
    question = {"name": "state", "title": "State of it", "choices": ["good", "bad"]}
    schema = read_schema({"questions": [VERDICT, question]}).model_dump(mode="json")
    queue = queue_of(project, mary, schema=schema)
    item = queue.items.get(position=1)
    review_services.finish(item, bob, given(item, bob, "reject", a_state="good"))
    head, line = as_user(mary).get(at("queue-labels", queue, "csv")).getvalue().decode().splitlines()
    names = head.split(",")
    assert len(set(names)) == len(names)
    assert dict(zip(names, line.split(","), strict=True))["answer_state"] == "good"
    [record] = as_user(mary).get(at("queue-labels", queue, "jsonl")).getvalue().decode().splitlines()
    assert json.loads(record)["answers"]["state"] == "good"


def test_nothing_is_reviewed_of_a_data_set_in_the_making(project: Project, mary: User, as_user: SignIn) -> None:
    """A data set that fails loses its trajectories, and reviews of them would be lost too."""
    dataset_of(project, [chain()], state=State.RUNNING)
    form = {"name": "Q", "reviewers": "1", "hold_minutes": "15", "how": "all"}
    page = as_user(mary).post(reverse("queue-new", args=project.path), form)
    assert page.status_code == 422 and "Nothing was found" in page.text and not Queue.objects.exists()
    Job.objects.update(state=State.DONE)
    assert as_user(mary).post(reverse("queue-new", args=project.path), form).status_code == 302


def test_a_queue_can_be_made_of_a_data_set_that_is_too_old_to_be_offered(
    project: Project, mary: User, as_user: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *_ = [dataset_of(project, [chain()]) for _ in range(3)]
    monkeypatch.setattr(forms, "OFFERED", 1)
    client, new = as_user(mary), reverse("queue-new", args=project.path)
    assert f'value="{first.number}" selected' in client.get(new, {"dataset": first.number}).text
    form = {"name": "Q", "reviewers": "1", "hold_minutes": "15", "how": "all", "dataset": first.number}
    assert client.post(new, form).status_code == 302
    assert Queue.objects.get().source["dataset"] == first.number


def test_the_items_before_and_after_are_those_that_are_still_there(
    project: Project, mary: User, bob: User, as_user: SignIn
) -> None:
    sets = [dataset_of(project, [replace(abstention(), id=f"one-{at}")]) for at in range(3)]
    keys = [one.trajectories.get().pk for one in sets]
    queue = make_queue(project, mary, keys, name="Q", schema=PLAIN.model_dump(mode="json"))
    sets[1].deleted_at = timezone.now()
    sets[1].save()
    first, gone, last = (item.get_absolute_url() for item in queue.items.order_by("position"))
    client = as_user(bob)
    assert client.get(gone).status_code == 404
    assert client.get(first).context["around"] == {"before": None, "after": 3, "count": 3}
    assert client.get(last).context["around"] == {"before": 1, "after": None, "count": 3}
    response = client.post(gone, {"action": "draft", "comment": "typed"}, headers={"Accept": "application/json"})
    assert response.status_code == 404, "which the page tells, and keeps what was typed in the browser"
