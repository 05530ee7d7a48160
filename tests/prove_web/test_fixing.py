"""Work with a trajectory: try changes to its calls, continue it by hand, edit it, and see what was edited."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.http import QueryDict
from django.test import Client
from django.urls import reverse

from prove_web.accounts.models import Project, User
from prove_web.servers.models import LiveSession
from prove_web.servers.session_services import fork
from prove_web.trajectories.call_fields import as_json
from prove_web.trajectories.edit_form import apply_button, draft_of, read, wanted_of
from prove_web.trajectories.load_dataset import row, scores
from prove_web.trajectories.models import Dataset, Opened, Trajectory
from prove_web.trajectories.replay_score import example_of
from training_worker.chat.protocol import write_calls
from training_worker.core.trajectory import Example, ToolCall, WorldRef, dumps
from training_worker.datasets.edits import as_it_is
from training_worker.environment.episode import Attempt

from .examples import abstention, chain, dataset_of

SignIn = Callable[[User], Client]
HTMX = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def data(settings: LazySettings, tmp_path: Path) -> None:
    settings.PROVE_DATA = tmp_path


def at(trajectory: Trajectory, page: str = "trajectory") -> str:
    return reverse(page, args=[*trajectory.dataset.project.path, trajectory.dataset.number, trajectory.example])


def stored(project: Project, example: Example) -> Trajectory:
    return dataset_of(project, [example]).trajectories.get()


def attempted(project: Project, example: Example) -> Trajectory:
    """Create an attempt that makes a needless call and every due call but the last."""
    running = Attempt(example)
    calls = [call for step in example.steps for call in step.calls]
    for call in (ToolCall("no_such_tool", {}), *calls[:-1]):
        running.answer(write_calls([call]))
    while not running.over:
        running.answer("Done.")
    rollout = running.finish()
    dataset = dataset_of(project)
    Dataset.objects.filter(pk=dataset.pk).update(holds=Dataset.ContentKind.ROLLOUTS)
    made = row(dataset, example)
    made.rollout = json.loads(dumps(rollout))
    for name, value in scores(rollout.reward).items():
        setattr(made, name, value)
    made.save()
    return made


def fields(example: Example, **other: str) -> dict[str, Any]:
    """Return what a browser sends for the unchanged form."""
    draft = draft_of(as_it_is(example))
    sent: dict[str, Any] = {"row": [str(one.key) for one in draft.rows]}
    for number, (said, answer) in enumerate(zip(draft.turns, draft.answers, strict=True), 1):
        sent |= {f"say-{number}": said, f"answer-{number}": answer}
    for one in draft.rows:
        sent |= {f"tool-{one.key}": one.tool, f"arguments-{one.key}": one.arguments, f"turn-{one.key}": str(one.turn)}
        sent |= {f"was-{one.key}": str(one.was)}
    return {**sent, **other}


def test_the_page_of_an_attempt_has_its_reward_its_misses_and_its_surplus(
    project: Project, victor: User, as_user: SignIn
) -> None:
    made = attempted(project, chain())
    page = as_user(victor).get(at(made))
    assert page.status_code == 200
    assert page.context["verdict"].reward.total == made.reward
    assert page.context["anatomy"].alignment.missed == page.context["anatomy"].alignment.surplus == 1
    for words in ("Rollout reward", "1 step missed", "1 surplus call", "no_such_tool"):
        assert words in page.text
    assert "Replayed in a fresh world" not in page.text


def test_the_page_of_an_attempt_that_cannot_be_read_falls_back_to_its_example(
    project: Project, victor: User, as_user: SignIn
) -> None:
    made = attempted(project, chain())
    Trajectory.objects.update(rollout={"of": "another version"})
    page = as_user(victor).get(at(made))
    assert page.status_code == 200 and "recorded by another version" in page.text


def test_leaving_out_a_call_shows_what_it_costs_and_stores_nothing(
    project: Project, victor: User, as_user: SignIn
) -> None:
    for made in (stored(project, chain()), attempted(project, chain())):
        form = {"call": "2", "do": "drop"}
        answer = as_user(victor).post(at(made, "trajectory-what-if"), form, headers=HTMX)
        assert answer.status_code == 200 and "nothing was saved" in answer.text and "<html" not in answer.text
        assert answer.context["after"] < answer.context["before"] == pytest.approx(made.reward)
        changes = sum(row.change for row in answer.context["rows"])
        assert changes == pytest.approx(answer.context["after"] - answer.context["before"])
        page = as_user(victor).post(at(made, "trajectory-what-if"), form)
        assert page.status_code == 200 and f"{at(made)}#call-2" in page.text
    assert Trajectory.objects.count() == 2 and not LiveSession.objects.exists()


def test_a_call_replaced_by_itself_earns_the_same(project: Project, victor: User, as_user: SignIn) -> None:
    made, call = stored(project, chain()), chain().steps[0].calls[0]
    form = {"call": "1", "do": "replace", "tool": call.name, "arguments": json.dumps(call.arguments)}
    answer = as_user(victor).post(at(made, "trajectory-what-if"), form, headers=HTMX)
    assert answer.context["after"] == answer.context["before"] and not answer.context["moved"]


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ({"call": "99", "do": "drop"}, "Unknown call &#x27;99&#x27;"),
        ({"call": "<b>", "do": "drop"}, "Unknown call"),
        ({"call": "1", "tool": "x", "arguments": "{"}, "not valid JSON, line 1, character 2"),
        ({"call": "1", "tool": "x", "arguments": "[1]"}, "must be an object"),
        ({"call": "1", "tool": "x", "arguments": '{"a": NaN}'}, "not valid JSON"),
        ({"call": "1", "tool": "x", "arguments": '"' + "x" * 30_000 + '"'}, "the limit is 20,000"),
    ],
)
def test_a_what_if_that_makes_no_sense_is_refused_with_a_reason(
    project: Project, victor: User, as_user: SignIn, form: dict[str, str], why: str
) -> None:
    made = stored(project, chain())
    answer = as_user(victor).post(at(made, "trajectory-what-if"), form)
    assert answer.status_code == 422 and why in answer.text


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"fingerprint": "0" * 16}, "differently"),
        ({"world": WorldRef(0, ("steam_engine",))}, "Missing server: steam_engine"),
    ],
)
def test_where_the_world_is_gone_nothing_is_run_and_the_page_says_why(
    project: Project, bob: User, as_user: SignIn, change: dict[str, Any], why: str
) -> None:
    made = stored(project, replace(chain(), **change))
    answer = as_user(bob).post(at(made, "trajectory-what-if"), {"call": "1", "do": "drop"})
    assert answer.status_code == 422 and why in answer.text
    assert as_user(bob).get(at(made, "trajectory-fix")).status_code == 200


def test_an_unchanged_trajectory_holds_and_an_edited_one_is_stored_beside_it(
    project: Project, bob: User, as_user: SignIn
) -> None:
    example, client = chain(), as_user(bob)
    made = stored(project, example)
    assert at(made, "trajectory-fix") in client.get(at(made)).text
    assert client.get(at(made, "trajectory-fix")).status_code == 200
    tried = client.post(at(made, "trajectory-fix"), fields(example, do="preview"))
    assert tried.status_code == 200 and "nothing was changed" in tried.text and Trajectory.objects.count() == 1

    said = f"{example.turns[0]} Thank you."
    answer = client.post(at(made, "trajectory-fix"), fields(example, do="save", **{"say-1": said}))

    new = Trajectory.objects.get(parent=made)
    assert answer.url == at(new) and new.query == said and new.dataset.name == "Made by hand"
    assert example_of(new) == replace(example, id=new.example, turns=(said, *example.turns[1:]), acts=())
    assert example_of(Trajectory.objects.get(pk=made.pk)) == example
    assert f'Edited from <a href="{at(made)}">{made.example}</a>' in client.get(at(new)).text
    assert f'Edited as <a href="{at(new)}">{new.example}</a>' in client.get(at(made)).text
    comparison = client.get(at(new, "trajectory-edited"))
    assert comparison.status_code == 200 and comparison.context["differing"] == 1 and "Thank" in comparison.text
    assert client.get(at(made, "trajectory-edited")).url == at(made)


def test_htmx_is_redirected_to_what_was_saved(project: Project, bob: User, as_user: SignIn) -> None:
    made = stored(project, chain())
    answer = as_user(bob).post(at(made, "trajectory-fix"), fields(chain(), do="save"), headers=HTMX)
    assert answer["HX-Redirect"] == at(Trajectory.objects.get(parent=made))


def test_what_does_not_hold_is_refused_with_all_that_was_typed(project: Project, bob: User, as_user: SignIn) -> None:
    made = stored(project, chain())
    key = next(one.key for one in draft_of(as_it_is(chain())).rows if one.arguments != "{}")
    for typed, why in (('{"half": ', "not valid JSON, line 1"), ('{"account": "ACC-<b>"}', "Validation failed")):
        sent = fields(chain(), do="save", **{"say-1": "My <own> words", f"arguments-{key}": typed})
        answer = as_user(bob).post(at(made, "trajectory-fix"), sent)
        assert answer.status_code == 422 and why in answer.text and "My &lt;own&gt; words" in answer.text
        assert typed.replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;") in answer.text
    assert Trajectory.objects.count() == 1


def test_calls_are_moved_deleted_and_added_by_buttons(project: Project, bob: User, as_user: SignIn) -> None:
    made, client = stored(project, chain()), as_user(bob)

    def keys(do: str) -> list[int]:
        page = client.post(at(made, "trajectory-fix"), fields(chain(), do=do))
        assert page.status_code == 200
        return [each["row"].key for block in page.context["blocks"] for each in block["rows"]]

    before = keys("nothing")
    assert keys("delete-1") == before[1:]
    assert len(keys("add-1")) == len(before) + 1 and len(keys("add-99")) == len(before)
    assert keys("up-1") == before == keys("down-99") == keys("delete-x")


def test_a_moved_call_changes_places_or_turns_and_comes_back() -> None:
    draft = draft_of(as_it_is(chain()))
    down = apply_button(draft, f"down-{draft.rows[0].key}")
    assert down != draft and {row.key for row in down.rows} == {row.key for row in draft.rows}
    assert apply_button(down, f"up-{draft.rows[0].key}") == draft


def test_any_form_can_be_read_and_the_unchanged_one_yields_the_unchanged_example(as_user: SignIn) -> None:
    query = QueryDict(mutable=True)
    for name, value in fields(chain()).items():
        query.setlist(name, value if isinstance(value, list) else [value])
    assert wanted_of(read(query, len(chain().turns)), len(chain().steps)) == as_it_is(chain())
    nonsense = QueryDict("row=x&row=1&row=1&turn-1=77&was-1=-3&arguments-1=%00{&say-1=a%0D%0Ab")
    found = read(nonsense, 2)
    assert (found.turns, len(found.rows), found.rows[0].turn) == (("a\nb", ""), 1, 1) and found.fault
    assert as_json("1").fault and as_json('{"a": NaN}').fault and not as_json("{}").fault


def test_a_fix_of_an_attempt_begins_with_the_calls_that_succeeded(project: Project, bob: User, as_user: SignIn) -> None:
    made = attempted(project, chain())
    page = as_user(bob).get(at(made, "trajectory-fix"))
    tools = [each["row"].tool for block in page.context["blocks"] for each in block["rows"]]
    assert tools == [call.name for step in chain().steps for call in step.calls][:-1]


def test_a_viewer_cannot_edit_and_a_record_that_cannot_be_read_is_not_edited(
    project: Project, victor: User, bob: User, as_user: SignIn
) -> None:
    made = stored(project, chain())
    assert as_user(victor).get(at(made, "trajectory-fix")).status_code == 403
    assert at(made, "trajectory-fix") not in as_user(victor).get(at(made)).text
    Trajectory.objects.update(record={"of": "nothing"})
    assert as_user(bob).get(at(made, "trajectory-fix"), follow=True).status_code == 200
    assert as_user(bob).post(at(made, "trajectory-what-if"), {"call": "1"}).status_code == 422


def test_an_abstention_can_have_other_words_and_stays_one(project: Project, bob: User, as_user: SignIn) -> None:
    example = abstention()
    made = stored(project, example)
    sent = fields(example, do="save", **{"say-1": f"{example.turns[0]} Please."})
    as_user(bob).post(at(made, "trajectory-fix"), sent)
    assert Trajectory.objects.get(parent=made).kind == example.kind


def test_a_trajectory_from_a_session_that_began_in_a_trajectory_has_it_as_its_parent(
    project: Project, bob: User, as_user: SignIn
) -> None:
    example, client = next(one for one in [chain()] if one.steps), as_user(bob)
    made = stored(project, example)
    client.post(at(made, "trajectory-session"), {"calls": "1"})
    session = LiveSession.objects.get()
    assert Opened.objects.get(session=session).trajectory == made and session.calls.count() == 1
    twin = fork(session, bob, 1)
    call = twin.calls.get()
    said = f"Do this, with {json.dumps(call.arguments)}"
    address = reverse("session-trajectory", args=[*project.path, twin.pk])
    client.post(address, {"say-1": said, "use-1": "1"})
    assert Trajectory.objects.get(parent=made).query == said


def test_an_attempt_is_opened_with_the_calls_that_reached_its_world(
    project: Project, bob: User, as_user: SignIn
) -> None:
    made = attempted(project, chain())
    as_user(bob).post(at(made, "trajectory-session"), {"calls": "2"})
    assert [call.tool for call in LiveSession.objects.get().calls.all()] == [chain().steps[0].calls[0].name]


def test_text_of_any_kind_is_rendered_as_text_everywhere(project: Project, bob: User, as_user: SignIn) -> None:
    attack = "<script>alert(1)</script>\u202e\u0007\u2028"
    huge = json.dumps([{"id": attack, "of": "x" * 400} for _ in range(2_000)])
    first = replace(chain().steps[0], calls=(ToolCall(attack, {attack: attack, "id": attack}),), observations=(huge,))
    later = replace(chain().steps[1], calls=(ToolCall("get_account", {"account": attack}),))
    bad = replace(chain(), turns=(attack, *chain().turns[1:]), steps=(first, later), edges=((0, 1),), persona=attack)
    made = stored(project, bad)
    for page in ("trajectory", "trajectory-fix"):
        answer = as_user(bob).get(at(made, page))
        assert answer.status_code == 200 and "<script>alert" not in answer.text
    assert answer.text.count("&lt;script&gt;") > 2
