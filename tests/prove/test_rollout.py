"""Rollouts: a perfect attempt earns everything, a bad one is data, and only a candidate tool is executed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_servers.catalogue import TOOLS, fingerprint
from mcp_servers.world import World
from training_worker.chat.protocol import ScriptedModel, write_calls
from training_worker.core.trajectory import Example, Message, Rollout, ToolCall, WorldRef, dumps, loads
from training_worker.environment.episode import Attempt, Limits, StaleExample, cut, demonstration, oracle
from training_worker.reward import RewardConfig

CANDIDATES = ("list_accounts", "get_account", "transfer_money", "list_transactions")
EXAMPLE = Example(
    id="small", kind="chain", split="train", world=WorldRef(7, ("banking", "email")), turns=("List.", "And again."),
    steps=(), edges=(), candidates=CANDIDATES, answers=("Done.", "Done."), digests=(),
    fingerprint=fingerprint(("banking", "email")),
)  # fmt: skip
LIST = ToolCall("list_accounts", {})
OPENING = World.open(7, ("banking", "email"), "small").digest()


def said(*texts: str, limits: Limits | None = None) -> Rollout:
    """Return the rollout of these assistant texts."""
    attempt = Attempt(EXAMPLE, limits)
    for text in texts:
        if not attempt.over:
            attempt.answer(text)
    return attempt.finish()


def tagged(body: str) -> str:
    return f"<tool_call>{body}</tool_call>"


def test_an_attempt_that_says_what_the_oracle_says_earns_everything(examples: tuple[Example, ...]) -> None:
    for example in examples[:60]:
        policy = ScriptedModel(message.content for message in demonstration(example) if message.role == "assistant")
        attempt = Attempt(example)
        while not attempt.over:
            attempt.answer(policy.reply(attempt.transcript, attempt.tools))
        rollout = attempt.finish()
        assert rollout.reward is not None and rollout.valid
        assert rollout.reward.total == pytest.approx(1.0 if example.abstains else 1.3)


def test_the_demonstration_shows_what_the_world_really_answers(chains: list[Example]) -> None:
    for example in chains[:60]:
        limits = Limits(observation=10**6)
        attempt = Attempt(example, limits)
        for message in demonstration(example):
            if message.role == "assistant":
                attempt.answer(message.content)
        assert attempt.transcript[1:] == list(demonstration(example))


def test_a_silent_policy_gets_every_turn_and_earns_nothing(two_turns: Example) -> None:
    attempt = Attempt(two_turns)
    assert attempt.answer("Hm.") == (Message("user", two_turns.turns[1]),)
    assert attempt.answer("Hm.") == () and attempt.over
    rollout = attempt.finish()
    assert rollout.end == "answered" and rollout.reward is not None and rollout.reward.total == 0


def test_a_call_where_nothing_can_be_done_costs_everything(abstention: Example) -> None:
    attempt = Attempt(abstention)
    attempt.answer(write_calls([ToolCall(abstention.candidates[0], {})]))
    attempt.answer("Done.")
    rollout = attempt.finish()
    assert rollout.reward is not None and rollout.reward.abstention and rollout.reward.total == 0


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (tagged("{"), "malformed_call"),
        (tagged('{"name": "list_accounts", "arguments": []}'), "malformed_call"),
        (tagged('{"name": "list_accounts", "arguments": {"a": NaN}}'), "malformed_call"),
        (tagged('{"name": "list_accounts", "arguments": {"a": 1e999}}'), "malformed_call"),
        (tagged('{"name": "list_accounts", "arguments": {"a": "\\ud800"}}'), "malformed_call"),
        (
            tagged('{"name": "list_accounts", "arguments": {"a": ' + "[" * 100_000 + "]" * 100_000 + "}}"),
            "malformed_call",
        ),
        (tagged('{"name": "list_accounts", "arguments": {"a": ' + "[" * 40 + "]" * 40 + "}}"), "malformed_call"),
        ('<tool_call>{"name": "list_accounts", "arguments": {}}', "malformed_call"),
        (tagged('{"name": "no_such_tool", "arguments": {}}'), "unknown_tool"),
        (tagged('{"name": "__import__(\'os\')", "arguments": {}}'), "unknown_tool"),
        (tagged('{"name": "", "arguments": {}}'), "unknown_tool"),
    ],
)
def test_a_malformed_call_or_unknown_tool_is_at_level_0_and_never_executed(text: str, code: str) -> None:
    rollout = said(text)
    (call,) = rollout.calls
    assert call.level == 0 and json.loads(call.observation)["error"] == code
    assert rollout.digest == OPENING and rollout.transcript[-1].content == call.observation


@pytest.mark.parametrize(
    "name", sorted(name for name, (server, _) in TOOLS.items() if server.name in ("banking", "email"))
)
def test_a_tool_of_the_world_that_is_no_candidate_is_never_executed(name: str) -> None:
    """The world has the tool, but the candidates lack it: the model does not have such a tool."""
    attempt = Attempt(replace(EXAMPLE, candidates=()))
    attempt.answer(write_calls([ToolCall(name, {"limit": 1})]))
    rollout = attempt.finish()
    assert rollout.calls[0].level == 0 and rollout.digest == OPENING
    assert json.loads(rollout.calls[0].observation)["error"] == "unknown_tool"


def test_levels_climb_with_form_and_success() -> None:
    world = World.open(7, ("banking", "email"), "small")
    account = json.loads(world.call("list_accounts", {}).text)[0]["id"]
    calls = [
        ToolCall("get_account", {}),
        ToolCall("get_account", {"account": 7}),
        ToolCall("get_account", {"account": "ACC-none"}),
        ToolCall("get_account", {"account": account, "more": 1}),
        ToolCall("get_account", {"account": account}),
    ]
    assert [call.level for call in said(write_calls(calls)).calls] == [1, 1, 2, 2, 3]


def test_a_text_cut_by_the_token_limit_runs_nothing(chains: list[Example]) -> None:
    example = next(example for example in chains if TOOLS[example.steps[0].calls[0].name][1].writes)
    attempt = Attempt(example)
    assert attempt.answer(write_calls(example.steps[0].calls), truncated=True) == ()
    rollout = attempt.finish()
    assert (rollout.end, rollout.failed_at, [call.level for call in rollout.calls]) == ("tokens", "policy", [0])
    assert rollout.digest == example.digests[0] and rollout.valid and rollout.reward is not None


@pytest.mark.parametrize("most", [1, 3, 10])
def test_a_policy_that_never_stops_is_stopped_after_its_turns(most: int) -> None:
    rollout = said(*[write_calls([LIST])] * 12, limits=Limits(assistant_turns=most))
    assert sum(message.role == "assistant" for message in rollout.transcript) == most
    assert (rollout.end, rollout.failed_at, len(rollout.calls)) == ("assistant_turns", "policy", most)


@pytest.mark.parametrize("most", [1, 5, 20])
@pytest.mark.parametrize("at_once", [1, 7, 3_000])
def test_a_policy_that_calls_too_often_is_stopped_after_its_calls(most: int, at_once: int) -> None:
    rollout = said(*[write_calls([LIST] * at_once)] * 40, limits=Limits(assistant_turns=40, calls=most))
    assert (rollout.end, rollout.failed_at, len(rollout.calls)) == ("calls", "policy", most)
    observed = [message for message in rollout.transcript if message.role == "tool"]
    assert len(observed) == most + 1 and json.loads(observed[-1].content)["error"] == "too_many_calls"


def test_a_conversation_has_no_more_user_turns_than_allowed() -> None:
    attempt = Attempt(replace(EXAMPLE, turns=tuple("abcdefgh")), Limits(user_turns=3))
    while not attempt.over:
        attempt.answer("Fine.")
    assert [message.content for message in attempt.transcript if message.role == "user"] == ["a", "b", "c"]


def test_the_next_user_turn_comes_exactly_when_the_policy_ends_a_turn() -> None:
    attempt = Attempt(EXAMPLE)
    for _ in range(3):
        assert [message.role for message in attempt.answer(write_calls([LIST, LIST]))] == ["tool", "tool"]
    assert attempt.answer("There.") == (Message("user", "And again."),)
    assert [message.role for message in attempt.answer(write_calls([LIST]))] == ["tool"]
    assert attempt.answer("There.") == () and attempt.end == "answered"


def test_a_long_observation_is_cut_in_the_transcript_and_complete_in_the_call() -> None:
    rollout = said(write_calls([LIST]), limits=Limits(observation=30))
    full, visible = rollout.calls[0].observation, rollout.transcript[-1].content
    assert visible == f"{full[:30]}... [cut: {len(full) - 30:,} more characters]"


@given(st.text(max_size=60), st.integers(0, 60))
def test_cutting_keeps_a_beginning_and_says_how_much_is_gone(text: str, most: int) -> None:
    result = cut(text, most)
    assert result[:most] == text[:most] and ("[cut: " in result[most:]) == (len(text) > most)


@pytest.mark.parametrize("boundary", ["infrastructure", "environment"])
def test_a_failure_that_is_not_the_policys_has_no_reward_and_does_not_count(boundary: Any) -> None:
    attempt = Attempt(EXAMPLE)
    attempt.answer(write_calls([LIST]))
    attempt.fail(boundary, "the sampler went away \ud800")
    rollout = attempt.finish()
    assert attempt.over and rollout.reward is None and not rollout.valid
    assert (rollout.end, rollout.failed_at, rollout.error) == ("infrastructure", boundary, "the sampler went away ?")
    assert loads(Rollout, dumps(rollout)) == rollout


def test_a_world_that_breaks_while_a_final_state_is_compared_voids_the_attempt_and_ends_no_run(
    chains: list[Example],
) -> None:
    example = next(one for one in chains if one.steps)
    gone = replace(example, id="gone", steps=(replace(example.steps[0], calls=(ToolCall("gone_tool", {}),)),), edges=())
    attempt = Attempt(gone, reward=RewardConfig(form="final_state"))
    attempt.answer("Done.")
    rollout = attempt.finish()
    assert (rollout.reward, rollout.failed_at) == (None, "environment") and "gone_tool" in rollout.error


def test_what_ends_a_rollout_first_is_what_ended_it() -> None:
    attempt = Attempt(EXAMPLE, Limits(assistant_turns=1))
    attempt.answer(write_calls([LIST]))
    attempt.fail("infrastructure", "too late")
    rollout = attempt.finish()
    assert (rollout.end, rollout.failed_at, rollout.error) == ("assistant_turns", "policy", "") and rollout.valid


def test_a_server_that_breaks_among_parallel_calls_is_the_only_failure_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    numbers = iter(range(30))

    def broken(*arguments: object) -> None:
        raise ZeroDivisionError(f"bug {next(numbers)}")

    monkeypatch.setattr(World, "call", broken)
    rollout = said(write_calls([LIST] * 30))
    assert (rollout.failed_at, rollout.error) == ("environment", "list_accounts: ZeroDivisionError: bug 0")
    assert len(rollout.calls) == 1


@pytest.mark.parametrize(
    ("thinking", "running", "boundary"), [(70, 0, "infrastructure"), (40, 1, "infrastructure"), (1, 70, "environment")]
)
def test_a_rollout_that_takes_too_long_is_laid_to_what_took_most_of_it(
    thinking: int, running: int, boundary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    answer = World.call

    def slow(*arguments: Any) -> Any:
        now[0] += running
        return answer(*arguments)

    monkeypatch.setattr(World, "call", slow)
    attempt = Attempt(EXAMPLE, Limits(seconds=60), clock=lambda: now[0])
    while not attempt.over:
        now[0] += thinking
        attempt.answer(write_calls([LIST]))
    rollout = attempt.finish()
    assert (rollout.end, rollout.failed_at, rollout.reward) == ("infrastructure", boundary, None)
    assert len(rollout.calls) < 2 and "the limit is 60 s" in rollout.error


def test_a_rollout_that_is_not_over_ran_out_of_tokens() -> None:
    rollout = said(write_calls([LIST]))
    assert (rollout.end, rollout.failed_at) == ("tokens", "policy") and rollout.reward is not None


def test_attempts_at_one_example_do_not_see_each_other(chains: list[Example]) -> None:
    for example in chains[:20]:
        first, second = Attempt(example), Attempt(example)
        for step in example.steps:
            first.answer(write_calls(step.calls))
        assert second.world.digest() == example.digests[0]
    assert oracle(chains[0]) == oracle(chains[0])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
likely_arguments = st.dictionaries(
    st.sampled_from(["account", "limit", "source", "target", "amount"]) | st.text(max_size=4), json_values, max_size=4
)
likely_calls = st.builds(
    lambda name, arguments: tagged(json.dumps({"name": name, "arguments": arguments})),
    st.sampled_from([*CANDIDATES, "send_email", ""]) | st.text(max_size=5),
    likely_arguments | json_values,
)
pieces = st.sampled_from(
    [
        "<tool_call>",
        "</tool_call>",
        '{"name": "list_accounts"',
        ', "arguments": {',
        '"a": NaN',
        "}",
        "\\ud800",
        "\ud800",
        "\0",
    ]
)
any_text = st.text(st.characters(), max_size=60) | likely_calls
model_texts = st.lists(any_text | pieces, max_size=8).map("".join)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(model_texts, min_size=1, max_size=4))
def test_whatever_a_policy_says_is_a_rollout_that_survives_its_json(texts: list[str]) -> None:
    rollout = said(*texts)
    line = dumps(rollout)
    assert loads(Rollout, line) == rollout and dumps(loads(Rollout, line)) == line
    assert rollout.valid and rollout.reward is not None and 0 <= rollout.reward.total <= 1


@pytest.mark.parametrize(
    "text",
    [
        "x" * 10_000_000,
        "<tool_call>" * 900_000,
        tagged(json.dumps({"name": "get_account", "arguments": {"account": "x" * 10_000_000}})),
        tagged(json.dumps({"name": "x" * 1_000_000, "arguments": {}})),
        tagged('{"name": "get_account", "arguments": {"account": ' + "9" * 5_000 + "}}"),
        tagged('{"name": "get_account", "arguments": {"account": 1' + "0" * 4_000 + "}}"),
        tagged("[" * 1_000_000),
        tagged("") * 500_000,
        "\ud83d" * 1_000,
    ],
    ids=["long", "openings", "argument", "name", "digits", "integer", "deep", "many", "surrogates"],
)
def test_enormous_and_crooked_texts_are_answered_briefly_and_survive_their_json(text: str) -> None:
    rollout = said(text)
    assert all(len(message.content) < 5_000 for message in rollout.transcript if message.role == "tool")
    assert loads(Rollout, dumps(rollout)) == rollout and rollout.digest == OPENING


def test_the_last_value_of_a_repeated_key_is_run_and_stored() -> None:
    rollout = said(tagged('{"name": "send_email", "name": "list_accounts", "arguments": {"a": 1}, "arguments": {}}'))
    assert rollout.calls[0].call == LIST and rollout.calls[0].level == 3


def test_a_stale_example_names_the_server_that_changed_and_is_refused_with_the_remedy(two_turns: Example) -> None:
    with pytest.raises(StaleExample, match=r"differently now than when this was made.*Synthesize the dataset again"):
        Attempt(replace(two_turns, fingerprint="0" * 16))
    servers = sorted(two_turns.world.servers)
    digits = "".join("zz" if name == servers[0] else fingerprint([name])[-2:] for name in servers)
    with pytest.raises(StaleExample, match=f": {servers[0]} behaves differently now"):
        Attempt(replace(two_turns, fingerprint=f"{'0' * 16}-{digits}"))


def test_a_call_in_a_cut_turn_counts_as_malformed_and_is_not_run(abstention: Example) -> None:
    attempt = Attempt(abstention)
    attempt.answer(write_calls([ToolCall(abstention.candidates[0], {})]) + "<tool_call>{", truncated=True)
    rollout = attempt.finish()
    assert [call.level for call in rollout.calls] == [0, 0] and rollout.digest == abstention.digests[0]
    assert rollout.reward is not None and rollout.reward.total == 0


def test_a_server_that_breaks_voids_the_attempt_and_is_reported(
    two_turns: Example, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> None:
        raise ZeroDivisionError("a bug in a server")

    monkeypatch.setattr(World, "call", broken)
    attempt = Attempt(two_turns)
    assert attempt.answer(write_calls([two_turns.steps[0].calls[0]])) == ()
    rollout = attempt.finish()
    assert (rollout.failed_at, rollout.reward, rollout.valid) == ("environment", None, False)
    assert "ZeroDivisionError: a bug in a server" in rollout.error
