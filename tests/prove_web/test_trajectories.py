"""One trajectory: its conversation, its ground truth, its reward replayed now, its neighbours, its world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape
from django.utils.http import urlencode
from pytest_django import DjangoAssertNumQueries

from mcp_servers.catalogue import fingerprint
from prove_web.accounts.models import Project, User
from prove_web.servers.models import LiveSession
from prove_web.trajectories.models import Dataset, Trajectory
from prove_web.trajectories.replay_score import judge
from training_worker.core.trajectory import Example, Failure, ForeignTool, ServerCheck, Step, ToolCall, WorldRef

from .examples import abstention, chain, dataset_of, examples

SignIn = Callable[[User], Client]


def at(dataset: Dataset, example: Example, page: str = "trajectory", **query: Any) -> str:
    address = reverse(page, args=[*dataset.project.path, dataset.number, example.id])
    return address + (f"?{urlencode(query)}" if query else "")


def test_a_trajectory_shows_every_turn_call_result_and_fact(project: Project, victor: User, as_user: SignIn) -> None:
    example = chain()
    page = as_user(victor).get(at(dataset_of(project, [example]), example))
    assert page.status_code == 200
    text = page.text
    for words in (*example.answers, str(example.world.seed), example.fingerprint, *example.digests):
        assert escape(words) in text
    for tool in example.candidates:
        assert f"<code>{tool}</code>" in text
    assert [turn.text for turn in page.context["turns"] if turn.role == "user"] == list(example.turns)


def test_every_kind_of_real_trajectory_opens_with_its_largest_reward(
    project: Project, victor: User, as_user: SignIn
) -> None:
    dataset, client = dataset_of(project, examples()), as_user(victor)
    for example in examples():
        page = client.get(at(dataset, example))
        assert page.status_code == 200 and "Replayed in a fresh world" in page.text
        assert page.context["verdict"].reward.total == pytest.approx(1.0 if example.abstains else 1.3)


def test_a_failed_call_is_displayed_and_earns_nothing(project: Project, victor: User, as_user: SignIn) -> None:
    failure = Failure(0, 0, ToolCall("get_account", {"account": "travel"}), '{"error":"not_found"}', "corrected")
    example = replace(chain(), failures=(failure,))
    page = as_user(victor).get(at(dataset_of(project, [example]), example)).text
    assert "Failed, then corrected" in page
    assert page.count("/3</td>") == sum(len(step.calls) for step in example.steps) and ">None<" not in page


def test_the_components_add_up_to_the_total() -> None:
    verdict = judge(chain())
    assert sum(part.adds for part in verdict.parts) == pytest.approx(verdict.reward.total)
    assert judge(abstention()).parts == ()


def test_a_page_takes_as_many_queries_for_a_long_trajectory_as_for_a_short_one(
    project: Project, victor: User, as_user: SignIn, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    dataset, client = dataset_of(project, examples()), as_user(victor)
    client.get(at(dataset, chain()))  # notes in the session that the person has been here
    queries = 11  # session, user, project, role, the frame's projects; trajectory, beside it (3), blind, edits
    for example in (abstention(), max(examples(), key=lambda each: len(each.steps))):
        with django_assert_num_queries(queries):
            client.get(at(dataset, example))


def test_results_of_other_server_code_are_displayed_as_recorded_with_a_notice(
    project: Project, victor: User, as_user: SignIn
) -> None:
    stale = replace(chain(), fingerprint="0" * 16)
    page = as_user(victor).get(at(dataset_of(project, [stale]), stale))
    assert (
        page.status_code == 200
        and "differently now than when this was made" in page.text
        and "Replayed in a fresh world" not in page.text
    )
    assert len([turn for turn in page.context["turns"] if turn.calls]) == len(stale.steps)


def test_a_trajectory_on_a_server_that_is_gone_still_opens(project: Project, victor: User, as_user: SignIn) -> None:
    gone = replace(chain(), world=WorldRef(0, ("steam_engine",)), candidates=("stoke_boiler",))
    page = as_user(victor).get(at(dataset_of(project, [gone]), gone))
    assert page.status_code == 200 and "Missing server: steam_engine" in page.text and "(removed)" in page.text


def test_a_replay_that_ends_elsewhere_says_so(project: Project, victor: User, as_user: SignIn) -> None:
    other = replace(chain(), digests=(*chain().digests[:-1], "0" * 32))
    page = as_user(victor).get(at(dataset_of(project, [other]), other)).text
    assert "another state than recorded" in page and "Replayed in a fresh world" not in page


def test_a_record_that_cannot_be_read_opens_with_a_notice(project: Project, alice: User, as_user: SignIn) -> None:
    dataset = dataset_of(project, [chain()])
    Trajectory.objects.update(record={"of": "<script>alert(1)</script>"})
    client = as_user(alice)
    page = client.get(at(dataset, chain()))
    assert page.status_code == 200 and "cannot be shown" in page.text and "<script>alert" not in page.text
    assert client.post(at(dataset, chain(), "trajectory-session")).url == at(dataset, chain())


def test_a_script_in_a_query_a_result_or_an_answer_is_rendered_as_text(
    project: Project, victor: User, as_user: SignIn
) -> None:
    attack = "<script>alert(1)</script>"
    first = replace(chain().steps[0], observations=(attack,))
    bad = replace(chain(), turns=(attack, *chain().turns[1:]), steps=(first, *chain().steps[1:]), answers=(attack,))
    page = as_user(victor).get(at(dataset_of(project, [bad]), bad)).text
    assert attack not in page and page.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 3


def test_one_goes_to_the_trajectories_before_and_after_it(project: Project, victor: User, as_user: SignIn) -> None:
    dataset, client = dataset_of(project, examples()), as_user(victor)
    first, second, third = examples()[:3]
    page = client.get(at(dataset, second))
    assert (page.context["around"].earlier.example, page.context["around"].later.example) == (first.id, third.id)
    assert client.get(at(dataset, first)).context["around"].earlier is None
    assert client.get(at(dataset, examples()[-1])).context["around"].later is None


def test_one_stays_within_what_was_filtered(project: Project, victor: User, as_user: SignIn) -> None:
    dataset = dataset_of(project, examples())
    abstaining = [each for each in examples() if each.abstains]
    page = as_user(victor).get(at(dataset, abstaining[0], steps="0"))
    assert page.context["around"].earlier is None and page.context["around"].later.example == abstaining[1].id
    assert at(dataset, abstaining[1], steps="0") in page.text
    assert f"{dataset.get_absolute_url()}?steps=0#found" in page.text


def test_a_stranger_finds_no_trajectory_and_a_member_none_of_another_project(
    project: Project, victor: User, charlie: User, as_user: SignIn
) -> None:
    dataset = dataset_of(project, [chain()])
    assert as_user(charlie).get(at(dataset, chain())).status_code == 404
    assert as_user(charlie).post(at(dataset, chain(), "trajectory-session")).status_code == 404
    other = dataset_of(Project.objects.create(organisation=project.organisation, slug="two", name="Two"))
    assert as_user(victor).get(at(other, chain())).status_code == 404


def test_its_world_opens_as_a_live_session_for_those_who_may_annotate(
    project: Project, bob: User, as_user: SignIn
) -> None:
    example = chain()
    dataset, client = dataset_of(project, [example]), as_user(bob)
    assert at(dataset, example, "trajectory-session") in client.get(at(dataset, example)).text

    answer = client.post(at(dataset, example, "trajectory-session"))

    made = LiveSession.objects.get()
    assert answer.url == made.get_absolute_url()
    assert (made.project, made.created_by, made.seed, made.size) == (project, bob, example.world.seed, "small")
    assert tuple(made.servers) == example.world.servers and made.fingerprint == fingerprint(made.servers)
    assert client.get(answer.url).status_code == 200


def imported(**changes: Any) -> Example:
    """Return an imported abstention example; one of its tools has the name of one of ours."""
    tools = tuple(ForeignTool(name, "", {"type": "object", "properties": {}}) for name in ("transfer_money", "fly"))
    made = replace(abstention(), source="when2call", system="Be brief.", tools=tools, world=WorldRef(0, ()))
    made = replace(made, candidates=("transfer_money", "fly"), digests=("",), fingerprint="", edges=())
    return replace(made, **changes)


def test_an_imported_trajectory_opens_without_a_world(project: Project, bob: User, as_user: SignIn) -> None:
    example = imported()
    dataset, client = dataset_of(project, [example]), as_user(bob)
    page = client.get(at(dataset, example))
    assert page.status_code == 200 and page.context["verdict"].reward.total == 1.0
    for words in ("from when2call; its tools are not live", "<code>fly</code>", "Be brief."):
        assert words in page.text
    for words in ("(removed)", "Replayed in a fresh world", "seed</dt>", "State digests", "/tools/transfer_money"):
        assert words not in page.text
    assert at(dataset, example, "trajectory-session") not in page.text
    answer = client.post(at(dataset, example, "trajectory-session"), follow=True)
    assert not LiveSession.objects.exists() and "Cannot open a session" in answer.text
    assert client.get(dataset.get_absolute_url()).status_code == 200


def test_imported_calls_are_displayed_as_recorded_and_have_no_reward(
    project: Project, victor: User, as_user: SignIn
) -> None:
    steps = (Step((ToolCall("fly", {"to": "Rome"}), ToolCall("fly", {"to": "Oslo"})), 0, ("landed",)),)
    example = imported(steps=steps, kind="chain", source="openai")
    page = as_user(victor).get(at(dataset_of(project, [example]), example))
    assert page.status_code == 200 and page.context["verdict"].reward is None
    for words in ("cannot be replayed", "As recorded", "its calls are not certified", "landed", "Oslo"):
        assert words in page.text
    assert "Executed" not in page.text


def test_the_server_check_of_imported_calls_is_displayed(project: Project, victor: User, as_user: SignIn) -> None:
    steps = (Step((ToolCall("fly", {"to": "Rome"}),), 0, ("landed",)),)
    check = ServerCheck(servers=("air",), verdict="differs", step=0, call="fly", told=("- <b>1</b>", "+ 2"))
    shaky = imported(steps=steps, kind="chain", source="openai", check=check)
    page = as_user(victor).get(at(dataset_of(project, [shaky]), shaky))
    for words in ("not deterministic", "at <code>fly</code> in step 1", "- &lt;b&gt;1&lt;/b&gt;", "not certified"):
        assert words in page.text
    assert page.context["verdict"].reward is None
    sure = imported(steps=steps, kind="chain", source="openai", check=ServerCheck(servers=("air",), verdict="same"))
    page = as_user(victor).get(at(dataset_of(project, [sure]), sure))
    assert "are certified: same results twice" in page.text and "not certified" not in page.text
    assert page.context["verdict"].reward is None and "not supported yet" in page.text


def test_a_viewer_cannot_open_its_world(project: Project, victor: User, as_user: SignIn) -> None:
    dataset, client = dataset_of(project, [chain()]), as_user(victor)
    assert at(dataset, chain(), "trajectory-session") not in client.get(at(dataset, chain())).text
    assert client.post(at(dataset, chain(), "trajectory-session")).status_code == 403
    assert client.get(at(dataset, chain(), "trajectory-session")).status_code in (403, 405)
    assert not LiveSession.objects.exists()


def test_the_world_of_other_server_code_opens_with_a_warning(project: Project, bob: User, as_user: SignIn) -> None:
    stale = replace(chain(), fingerprint="0" * 16)
    answer = as_user(bob).post(at(dataset_of(project, [stale]), stale, "trajectory-session"), follow=True)
    assert LiveSession.objects.count() == 1 and "may differ" in answer.text
