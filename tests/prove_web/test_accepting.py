"""Accepting verifies by replay: synthesized data replays unchanged, and each difference is named at its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from mcp_servers.catalogue import SERVERS, fingerprint
from mcp_servers.core.random_walk import Walker
from mcp_servers.core.session import Session
from mcp_servers.world import World
from prove_web.accounts.models import Project, User
from prove_web.environments.models import ServerVersion
from prove_web.environments.versions import schemas
from prove_web.review.acceptance import NotChecked, ReplayDriftError, ReplayServerError, accept, as_demonstration, check
from prove_web.review.acceptance_status import standings
from prove_web.review.models import Acceptance, Item, Queue
from prove_web.review.schema import PLAIN
from prove_web.trajectories.models import Trajectory
from training_worker.chat.protocol import HERMES
from training_worker.core.trajectory import Example, Rollout, Step, ToolCall, WorldRef, dumps
from training_worker.datasets.drift import rerun
from training_worker.environment.episode import Attempt, Limits, oracle
from training_worker.synthesis.validate import Rejected, validate

from .examples import abstention, chain, dataset_of, examples, sequences

pytestmark = pytest.mark.django_db
SignIn = Callable[[User], Client]


def stored(project: Project, example: Example, attempt: Rollout | None = None) -> Trajectory:
    """Store the example as a trajectory, or an attempt at it."""
    found = dataset_of(project, [example]).trajectories.get()
    if attempt:
        found.rollout = json.loads(dumps(attempt))
        found.save()
    return found


def answered_otherwise(example: Example, step: int, text: str = '{"other":1}') -> Example:
    """Return the example with another recorded result in one of its steps."""
    steps = list(example.steps)
    steps[step] = replace(steps[step], observations=(text, *steps[step].observations[1:]))
    return replace(example, steps=tuple(steps))


def queue_with(trajectory: Trajectory, **rest: Any) -> Item:
    project = trajectory.dataset.project
    queue = Queue.objects.create(project=project, number=1, name="First", schema=PLAIN.model_dump(), **rest)
    return Item.objects.create(queue=queue, position=1, trajectory=trajectory)


def breaks(*rest: object, **more: object) -> None:
    raise RuntimeError("the disk is full")


def wandered(server: str, calls: int = 40) -> tuple[Example, Rollout]:
    """Return an attempt of random calls, sensible ones and others, in a world of one server."""
    tools = SERVERS[server].tools
    example = replace(
        abstention(), world=WorldRef(7, (server,)), candidates=tuple(tools), fingerprint=fingerprint((server,))
    )
    attempt, world = Attempt(example, Limits(calls=calls, assistant_turns=calls + 1)), World.open(7, (server,), "small")
    walker = Walker(tools, [world.sessions[server].state], server)
    for _ in range(calls):
        step = walker.walk(world.sessions[server])
        attempt.answer(HERMES.write([ToolCall(step.tool, json.loads(step.arguments))]))
    return example, attempt.finish()


@pytest.mark.parametrize("server", SERVERS)
def test_calls_that_were_just_made_on_any_server_replay_without_drift(server: str) -> None:
    example, attempt = wandered(server)
    found = rerun(example, attempt)
    assert (found.differences, found.digest) == ((), attempt.digest)
    assert {one.level for one in attempt.calls} >= {3} and len(attempt.calls) == 40


def test_what_was_just_synthesized_replays_without_drift() -> None:
    for example in examples():
        found = rerun(example)
        assert (found.differences, found.digest) == ((), example.digests[-1]), example.id
        assert found.reward.total == found.before.total == (1.0 if example.abstains else 1.3)
        attempt = rerun(example, oracle(example))
        assert (attempt.differences, attempt.digest) == ((), example.digests[-1])


def test_any_recorded_answer_that_is_changed_is_named_at_its_call() -> None:
    changed = 0
    for example in sequences():
        for step in range(len(example.steps)):
            [found] = rerun(answered_otherwise(example, step)).differences
            assert (found.what, found.call) == ("answer", step + 1)
            assert '- "other": 1' in found.lines
            attempt = oracle(example)
            calls = [*attempt.calls]
            calls[step] = replace(calls[step], observation="said otherwise")
            [found] = rerun(example, replace(attempt, calls=tuple(calls))).differences
            assert (found.what, found.call) == ("answer", step + 1) and "-said otherwise" in found.lines
            changed += 1
    assert changed > 20


def test_digests_that_differ_are_named_by_their_step() -> None:
    example = chain(2)
    other = replace(example, digests=(*example.digests[:-1], "0" * 32))
    [found] = rerun(other).differences
    assert found.what == "state" and f"After step {len(example.steps)} of" in found.text
    [opening] = rerun(replace(example, digests=("0" * 32, *example.digests[1:]))).differences
    assert opening.what == "world"
    [end] = rerun(example, replace(oracle(example), digest="0" * 32)).differences
    assert end.what == "state"


def test_an_attempt_earns_less_when_a_call_of_it_fails_now() -> None:
    example = chain(2)
    attempt = oracle(example)
    last = attempt.calls[-1]
    calls = (*attempt.calls[:-1], replace(last, call=replace(last.call, arguments={"nothing": 1})))
    found = rerun(example, replace(attempt, calls=calls))
    assert {one.what for one in found.differences} >= {"answer", "reward"}
    assert found.reward.total < found.before.total


def test_a_server_or_a_tool_that_is_gone_is_named_and_nothing_else_breaks(project: Project) -> None:
    example = chain(2)
    gone = replace(example, world=replace(example.world, servers=("telegraph",)))
    assert check(stored(project, gone)).drift == ("The server telegraph no longer exists.",)
    call = replace(example.steps[0].calls[0], name="send_telegram")
    steps = (Step((call,), 0, example.steps[0].observations), *example.steps[1:])
    drift = check(stored(project, replace(example, steps=steps, candidates=("send_telegram",)))).drift
    assert any("send_telegram" in text for text in drift)
    nonsense = replace(example, digests=())
    assert "are inconsistent" in check(stored(project, nonsense)).drift[0]


def test_other_code_with_the_same_answers_is_no_drift_and_is_reported(project: Project) -> None:
    found = check(stored(project, replace(chain(), fingerprint="0" * 16)))
    assert (found.drift, found.other_code) == ((), True)
    assert found.fingerprint == fingerprint(chain().world.servers)


def test_a_schema_that_changed_is_drift_and_is_listed(project: Project) -> None:
    example = replace(chain(), fingerprint="0" * 16)
    tool = next(name for name in example.candidates if name in SERVERS[example.world.servers[0]].tools)
    before = schemas(example.world.servers[0])
    before[tool] = {**before[tool], "description": "As it was."}
    ServerVersion.objects.create(server=example.world.servers[0], fingerprint="before", schemas=before)
    [found] = check(stored(project, example)).differences
    assert (found.what, tool in found.text) == ("schema", True)
    assert "-As it was." in found.lines


def test_accepting_keeps_reward_digest_and_servers_once(project: Project, bob: User, mary: User) -> None:
    trajectory = stored(project, chain())
    first = accept(trajectory, bob)
    assert (first.reward["total"], first.digest) == (1.3, chain().digests[-1])
    assert first.fingerprint == fingerprint(chain().world.servers)
    assert accept(trajectory, mary) == first and Acceptance.objects.count() == 1
    item = queue_with(trajectory)
    assert accept(trajectory, mary, item).item == item
    assert accept(trajectory, bob, item) == accept(trajectory, mary, item) and Acceptance.objects.count() == 2


def test_drift_blocks_until_there_is_a_reason(project: Project, bob: User) -> None:
    trajectory = stored(project, answered_otherwise(chain(2), 1))
    for nothing in ("", "  \n"):
        with pytest.raises(ReplayDriftError) as raised:
            accept(trajectory, bob, reason=nothing)
        assert raised.value.checked.drift and "Call 2" in str(raised.value)
    assert not Acceptance.objects.exists()
    accepted = accept(trajectory, bob, reason="The new answer is right.")
    assert accepted.drift and accepted.reason == "The new answer is right."
    assert accept(trajectory, bob) == accepted, "it was accepted so already"


def test_a_server_that_breaks_is_no_drift(project: Project, bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    trajectory, attempt = stored(project, chain()), stored(project, chain(), oracle(chain()))
    monkeypatch.setattr(Session, "call", breaks)
    for one in (trajectory, attempt):
        with pytest.raises(ReplayServerError, match="the disk is full"):
            accept(one, bob, reason="whatever")
    assert not Acceptance.objects.exists()


def test_what_cannot_be_read_or_broke_for_no_fault_of_the_policy_is_not_accepted(project: Project, bob: User) -> None:
    trajectory = stored(project, chain())
    trajectory.record = {"of": "another version"}
    broken = Attempt(chain())
    broken.fail("infrastructure", "out of memory")
    unread = stored(project, chain(), oracle(chain()))
    unread.rollout = {"of": "another version"}
    for one in (trajectory, stored(project, chain(), broken.finish()), unread):
        with pytest.raises(NotChecked):
            accept(one, bob, reason="whatever")


def test_an_imported_conversation_with_calls_is_accepted_for_a_reason_alone(project: Project, bob: User) -> None:
    trajectory = stored(project, replace(chain(), source="toolace"))
    with pytest.raises(ReplayDriftError, match="cannot be replayed"):
        accept(trajectory, bob)
    assert accept(trajectory, bob, reason="Read twice.").reward is None


def test_an_accepted_attempt_that_did_it_right_is_a_demonstration(project: Project) -> None:
    for example in [one for one in sequences() if {step.turn for step in one.steps} == {*range(len(one.turns))}][:20]:
        made = as_demonstration(stored(project, example, oracle(example)))
        validate(made)
        assert (made.turns, made.steps, made.answers) == (example.turns, example.steps, example.answers)
        assert (made.candidates, made.today, made.level) == (example.candidates, example.today, example.level)


def test_a_demonstration_of_other_code_is_one_of_today_if_it_holds(project: Project) -> None:
    stale = replace(chain(), fingerprint="0" * 16)
    assert as_demonstration(stored(project, stale)) == chain()
    with pytest.raises(Rejected, match="has a different result"):
        as_demonstration(stored(project, answered_otherwise(stale, 0)))


def test_an_attempt_that_made_no_call_where_one_was_due_is_no_demonstration_and_says_why(project: Project) -> None:
    attempt = Attempt(chain())
    attempt.answer("I would rather not.")
    with pytest.raises(Rejected, match="No call of the rollout answers"):
        as_demonstration(stored(project, chain(), attempt.finish()))


def test_declining_in_its_own_words_is_a_demonstration_of_an_abstention(project: Project) -> None:
    attempt = Attempt(abstention())
    attempt.answer("No tool of mine does that.")
    while not attempt.over:
        attempt.answer("Nor that.")
    assert as_demonstration(stored(project, abstention(), attempt.finish())).answers[0] == "No tool of mine does that."


def test_a_list_tells_who_accepted_and_whether_the_servers_are_the_same(
    project: Project, bob: User, django_assert_num_queries: Callable[[int], Any]
) -> None:
    first, second, third = dataset_of(project, examples()[:3]).trajectories.all()
    accept(first, bob)
    accept(second, bob)
    Acceptance.objects.filter(trajectory=second).update(fingerprint="of another day")
    with django_assert_num_queries(2):
        found = standings([first, second, third])
    assert {key: one.same for key, one in found.items()} == {first.pk: True, second.pk: False}


def test_the_page_accepts_shows_what_differs_and_asks_for_the_reason(
    project: Project, bob: User, victor: User, as_user: SignIn
) -> None:
    trajectory = stored(project, answered_otherwise(chain(2), 1))
    url = trajectory.get_absolute_url()
    bobs = as_user(bob)
    page = bobs.post(f"{url}accept/", headers={"HX-Request": "true"}).text
    assert f'href="{url}#call-2"' in page and "<del>" in page and "recorded, + now" in page and "<html" not in page
    assert "Enter a reason" in bobs.post(f"{url}accept/", {"reason": " "}).text
    assert bobs.post(f"{url}accept/", {"reason": "<b>fine</b>"}).headers["Location"] == f"{url}#acceptance"
    history = as_user(victor).get(f"{url}acceptance/").text
    assert "&lt;b&gt;fine&lt;/b&gt;" in history and "1 difference" in history
    assert "Verify again" not in history, "who may look cannot accept"


def test_the_page_says_when_a_server_broke(
    project: Project, bob: User, as_user: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    trajectory = stored(project, chain())
    monkeypatch.setattr(Session, "call", breaks)
    page = as_user(bob).post(f"{trajectory.get_absolute_url()}accept/").text
    assert "The replay failed" in page and "Environments" in page and not Acceptance.objects.exists()


def test_the_command_tells_what_has_drifted_since_it_was_accepted(
    project: Project, bob: User, capsys: pytest.CaptureFixture[str]
) -> None:
    trajectory = stored(project, chain(2))
    accept(trajectory, bob)
    accept(stored(project, answered_otherwise(chain(), 0)), bob, reason="Known.")
    call_command("verify_accepted", project="acme/demo")
    assert "2 of 2 accepted trajectories hold" in capsys.readouterr().out
    trajectory.record = json.loads(dumps(answered_otherwise(chain(2), 1)))
    trajectory.save()
    with pytest.raises(CommandError):
        call_command("verify_accepted")
    output = capsys.readouterr().out
    assert f"{trajectory.get_absolute_url()} has drifted" in output and "Call 2" in output and "1 of 2" in output
    with pytest.raises(CommandError, match="no project acme/nothing"):
        call_command("verify_accepted", project="acme/nothing")
