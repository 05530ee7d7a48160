"""Unexpected trajectories and requests: each gets a page, and none reveals what it should not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from prove_web.accounts.models import Organisation, Project, User
from prove_web.review.create_queue import make_queue
from prove_web.review.models import Review
from prove_web.review.schema import PLAIN
from prove_web.trajectories.edit_diff import DiffItem, pair
from prove_web.trajectories.edit_form import draft_of
from prove_web.trajectories.entered_arguments import DEEPEST, LONGEST, NotArguments, arguments_of
from prove_web.trajectories.models import Trajectory
from prove_web.trajectories.search import search
from training_worker.core.trajectory import Example, dumps
from training_worker.datasets.edits import as_it_is

from .examples import chain, dataset_of, examples

SignIn = Callable[[User], Client]
pytestmark = pytest.mark.django_db
WORDS = st.text(st.sampled_from("ab .\n"), max_size=60)


def stored(project: Project, example: Example) -> Trajectory:
    found: Trajectory = dataset_of(project, [example]).trajectories.get()
    return found


def at(trajectory: Trajectory, name: str) -> str:
    return reverse(name, args=[*trajectory.dataset.project.path, trajectory.dataset.number, trajectory.example])


def nested(levels: int) -> str:
    return '{"a": ' + "[" * levels + "]" * levels + "}"


@pytest.mark.parametrize("said", [r'{"a": "\ud800"}', nested(900), nested(985), r'"\u0000"', "9" * 5_000, "1e999"])
def test_a_trajectory_with_any_tool_result_has_a_page(said: str, project: Project, bob: User, as_user: SignIn) -> None:
    first, *rest = chain().steps
    odd = replace(first, observations=(said,) * len(first.calls))
    made = stored(project, replace(chain(), steps=(odd, *rest)))
    assert as_user(bob).get(made.get_absolute_url()).status_code == 200


@pytest.mark.parametrize("source", ["", "openai"])
@pytest.mark.parametrize(
    "odd",
    [{"answers": ()}, {"digests": ()}, {"fingerprint": "x"}, {"edges": ((0, 1),)}, {"candidates": ("gone_tool",)}],
    ids=str,
)
def test_a_trajectory_with_parts_missing_is_displayed_as_far_as_possible(
    odd: dict[str, Any], source: str, project: Project, bob: User, as_user: SignIn
) -> None:
    bare = tuple(replace(step, observations=()) for step in chain().steps)
    made, client = stored(project, replace(chain(), steps=bare, source=source, **odd)), as_user(bob)
    assert client.get(made.get_absolute_url()).status_code == 200
    assert client.get(at(made, "trajectory-fix")).status_code in (200, 302)
    assert client.post(at(made, "trajectory-what-if"), {"call": "1", "do": "drop"}).status_code in (200, 422)


@pytest.mark.parametrize("odd", [{"turns": ()}, {"edges": ((0, 99),)}, {"edges": ((-1, 0),)}, {"turns": ("only",)}])
def test_a_record_whose_parts_do_not_fit_is_displayed_as_it_is(
    odd: dict[str, Any], project: Project, bob: User, as_user: SignIn
) -> None:
    late = tuple(replace(step, turn=step.turn + ("turns" in odd)) for step in chain().steps)
    broken = json.loads(dumps(replace(chain(), source="openai", steps=late, **odd)))
    made = stored(project, chain())
    Trajectory.objects.filter(pk=made.pk).update(record=broken)
    assert "cannot be shown as a conversation" in as_user(bob).get(made.get_absolute_url()).text


def test_a_tool_that_is_gone_is_named(project: Project, bob: User, as_user: SignIn) -> None:
    made = stored(project, replace(chain(), candidates=(*chain().candidates, "gone_tool")))
    assert "Missing tool: gone_tool" in as_user(bob).get(made.get_absolute_url()).text


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        (nested(DEEPEST), "nested more than"),
        (nested(900), "nested more than"),
        (nested(9_000), "not valid JSON"),
        ('{"a": 1e999}', "not valid JSON"),
        ('{"a": NaN}', "not valid JSON"),
        (r'{"a": "\ud800"}', "invalid character"),
        (r'{"a\u0000": 1}', "invalid character"),
        ("[]", "must be an object"),
        (json.dumps({"a": "x" * LONGEST}), "the limit is"),
    ],
    ids=range(9),
)
def test_what_no_tool_can_be_given_is_refused_with_the_reason(typed: str, why: str) -> None:
    with pytest.raises(NotArguments, match=why):
        arguments_of(typed)


@given(
    st.dictionaries(st.text(st.characters(exclude_categories=["Cs"], min_codepoint=1)), st.integers() | st.booleans())
)
def test_what_is_typed_as_json_is_what_a_tool_is_given(value: dict[str, Any]) -> None:
    assert arguments_of(json.dumps(value)) == value


def test_a_place_in_a_list_of_another_team_reveals_nothing(project: Project, bob: User, as_user: SignIn) -> None:
    other = Project.objects.create(organisation=Organisation.objects.create(slug="x", name="X"), slug="y", name="Y")
    theirs = stored(other, chain())
    Trajectory.objects.filter(pk=theirs.pk).update(reward=0.5)
    ours = list(dataset_of(project, examples()[:4]).trajectories.all())
    for number, each in enumerate(ours):
        Trajectory.objects.filter(pk=each.pk).update(reward=number / 4)
    page = reverse("trajectories", args=project.path)
    for place in ("after", "before"):
        found = as_user(bob).get(page, {"sort": "reward", place: theirs.pk}).context["page"]
        assert [one.pk for one in found.rows] == [one.pk for one in ours]


@pytest.mark.parametrize("field", ["label", "tool", "knob", "has", "id"])
def test_a_query_names_as_many_values_as_can_be_compared(field: str, project: Project) -> None:
    names = ["edit"] if field == "has" else ["distractors"] if field == "knob" else ["a", "b"]
    found = search(project, f"{field}:" + ",".join((names * 60)[:51]))
    assert found.fault and "at most 50 values" in found.fault.message
    assert search(project, f"{field}:" + ",".join((names * 60)[:50])).rows.count() == 0


@pytest.mark.parametrize("query", [" OR ".join(["a"] * 190), " ".join("abcdefgh" * 60), " ".join(["-label:a"] * 110)])
def test_a_query_of_the_maximum_length_is_answered(query: str, project: Project) -> None:
    assert search(project, query).rows.count() == 0


def test_while_someone_reviews_blind_no_page_that_runs_it_reveals_the_reward(
    project: Project, mary: User, bob: User, as_user: SignIn
) -> None:
    made = stored(project, chain())
    queue = make_queue(project, mary, [made.pk], name="Q", schema=PLAIN.model_dump(mode="json"), reviewers=2)
    change, mend = {"call": "1", "do": "drop"}, fields(chain())
    answer = as_user(bob).post(at(made, "trajectory-what-if"), change)
    assert answer.status_code == 422 and "Your blind review" in answer.text and "data-before" not in answer.text
    mended = as_user(bob).post(at(made, "trajectory-fix"), mend)
    assert "Validation passed" in mended.text and "Reward" not in mended.text
    assert "data-before" in as_user(mary).post(at(made, "trajectory-what-if"), change).text
    done = {"state": Review.State.DONE, "answers": {"verdict": "accept"}}
    Review.objects.create(item=queue.items.get(), reviewer=bob, **done)
    assert "data-before" in as_user(bob).post(at(made, "trajectory-what-if"), change).text
    assert "Reward" in as_user(bob).post(at(made, "trajectory-fix"), mend).text


def fields(example: Example, **more: Any) -> dict[str, Any]:
    """Return what the page that edits an example sends unchanged."""
    draft = draft_of(as_it_is(example))
    sent: dict[str, Any] = {"do": "preview", "row": [str(row.key) for row in draft.rows], **more}
    for row in draft.rows:
        sent |= {f"tool-{row.key}": row.tool, f"turn-{row.key}": str(row.turn), f"was-{row.key}": str(row.was)}
        sent |= {f"arguments-{row.key}": row.arguments} | ({f"joined-{row.key}": "1"} if row.joined else {})
    for number, (said, answer) in enumerate(zip(draft.turns, draft.answers, strict=True), 1):
        sent |= {f"say-{number}": more.get(f"say-{number}", said), f"answer-{number}": answer}
    return sent


def test_what_is_too_long_to_store_comes_back_complete_with_the_reason(
    project: Project, bob: User, as_user: SignIn
) -> None:
    made, long = stored(project, chain()), "x" * (LONGEST + 1)
    answer = as_user(bob).post(at(made, "trajectory-fix"), fields(chain(), do="save", **{"say-1": long}))
    assert answer.status_code == 422 and "Shorten it" in answer.text and long in answer.text
    sent = fields(chain(), do="save")
    sent |= {"row": [*sent["row"], *map(str, range(100, 141))]}
    sent |= {f"{name}-{key}": value for key in range(100, 141) for name, value in (("tool", "x"), ("arguments", "{}"))}
    answer = as_user(bob).post(at(made, "trajectory-fix"), sent)
    assert answer.status_code == 422 and "the maximum is 40" in answer.text and answer.text.count('name="row"') > 40
    assert Trajectory.objects.count() == 1


@given(WORDS, WORDS)
def test_two_texts_side_by_side_are_both_complete(before: str, after: str) -> None:
    found = pair(DiffItem("user", "", before), DiffItem("user", "", after))
    assert "".join(text for text, _ in found.old) == before and "".join(text for text, _ in found.new) == after
    same = ["".join(text for text, differs in side if not differs) for side in (found.old, found.new)]
    assert same[0] == same[1]


def test_long_texts_that_differ_throughout_are_one_change() -> None:
    before, after = "start " + "w " * 9_000 + "end", "start " + "w v " * 4_500 + "end"
    found = pair(DiffItem("user", "", before), DiffItem("user", "", after))
    assert len(found.old) <= 3 and len(found.new) <= 3
    assert found.old[0][0].startswith("start") and not found.old[0][1]
