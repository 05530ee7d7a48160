"""The engine on live servers: limits hold and are visible, and every failure is attributed once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_servers.world import World
from training_worker.chat.protocol import write_calls
from training_worker.config.grpo import TokenLimits
from training_worker.core.trajectory import Rollout, ToolCall, dumps, loads
from training_worker.environment.episode import Attempt, Limits
from training_worker.policy.conversation import encode
from training_worker.policy.model_families import family_of
from training_worker.rollout.backends import GenerationRequest, GenerationResult, NoBackend
from training_worker.rollout.backends.scripted_policy import Policy, ScriptedBackend
from training_worker.rollout.engine import Engine, Sample, cut_tokens
from training_worker.rollout.generate import generate_text_rollouts, sample
from training_worker.training.metrics import invalid

from .families import family_model
from .live import EXAMPLE, LIST, OPENING, TOKENIZER, WIDE

PAGE = Path(__file__).parents[2] / "docs" / "backends.md"


def run(policy: Policy, limits: TokenLimits = WIDE, n: int = 1, **more: Any) -> list[Sample]:
    attempts = [Attempt(EXAMPLE, **more) for _ in range(n)]
    return Engine(ScriptedBackend(policy, TOKENIZER), TOKENIZER, limits).run(attempts, n)


def always(text: str) -> Policy:
    return lambda messages, tools: text


def in_turn(*texts: str) -> Policy:
    said = iter(texts)
    return lambda messages, tools: next(said, "Done.")


def test_the_policy_sees_the_conversation_and_the_tools() -> None:
    seen = []

    def policy(messages: Sequence[Any], tools: Sequence[dict[str, Any]]) -> str:
        seen.append(([message.role for message in messages], [tool["function"]["name"] for tool in tools]))
        return LIST if len(seen) == 1 else "Done."

    [one] = run(policy)
    assert [roles for roles, _ in seen] == [
        ["user"],
        ["user", "assistant", "tool"],
        ["user", "assistant", "tool", "assistant", "user"],
    ]
    assert {tuple(names) for _, names in seen} == {EXAMPLE.candidates}
    assert one.rollout.end == "answered" and one.environment_s > 0


def test_an_observation_is_cut_by_tokens_with_a_mark_in_the_transcript_and_in_the_completion() -> None:
    [one] = run(in_turn(LIST), TokenLimits(turn=100, completion=4_000, observation=12))
    [cut] = [message.content for message in one.rollout.transcript if message.role == "tool"]
    full = one.rollout.calls[0].observation
    left = len(encode(TOKENIZER, full)) - 12
    assert cut == cut_tokens(TOKENIZER, full, 12) and cut.endswith(f"... [cut: {left:,} more tokens]")
    assert TOKENIZER.decode(one.completion_ids).count(cut) == 1


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8"), max_size=60), st.integers(0, 30))
def test_cutting_keeps_a_beginning_of_at_most_so_many_tokens_and_says_how_much_is_gone(text: str, most: int) -> None:
    cut = cut_tokens(TOKENIZER, text, most)
    beginning, _, rest = cut.rpartition("... [cut: ")
    if cut != text:
        assert text.startswith(beginning) and len(encode(TOKENIZER, beginning)) <= most < len(encode(TOKENIZER, text))
        assert rest == f"{len(encode(TOKENIZER, text)) - most:,} more tokens]"


def test_an_endless_observation_is_not_read_to_its_end() -> None:
    cut = cut_tokens(TOKENIZER, "money " * 1_000_000, 8)
    assert cut.startswith("money money") and "[cut: more than " in cut and len(cut) < 100


def test_a_text_without_end_is_cut_at_its_turns_limit_and_its_calls_are_not_run() -> None:
    [one] = run(always(LIST + "and so on " * 1_000), TokenLimits(turn=100, completion=4_000))
    assert (one.rollout.end, one.rollout.failed_at, len(one.completion_ids)) == ("tokens", "policy", 100)
    assert [call.level for call in one.rollout.calls] == [0] and one.rollout.digest == OPENING


def test_a_conversation_that_fills_its_tokens_ends_before_a_turn_it_has_no_room_for() -> None:
    [one] = run(always(LIST), TokenLimits(turn=60, completion=700))
    assert (one.rollout.end, one.rollout.failed_at) == ("tokens", "policy") and len(one.completion_ids) <= 700
    assert one.env_mask[-1] == 1 and one.completion_ids[-1] == family_of(TOKENIZER).end


HUGE = [
    ToolCall("get_account", {"account": "x" * 1_000_000}),
    ToolCall("x" * 1_000_000, {}),
    ToolCall("get_account", {"account": "ACC-1", "more": ["y" * 1_000] * 1_000}),
]


@pytest.mark.parametrize("call", HUGE, ids=["argument", "name", "unknown"])
def test_a_call_of_a_megabyte_is_answered_briefly_and_stored(call: ToolCall) -> None:
    [one] = generate_text_rollouts(ScriptedBackend(in_turn(write_calls([call]))), [EXAMPLE])[0]
    assert [made.call for made in one.calls] == [call] and one.end == "answered"
    assert all(len(message.content) < 5_000 for message in one.transcript if message.role == "tool")
    assert loads(Rollout, dumps(one)) == one


def test_ten_thousand_calls_in_one_turn_are_cut_at_the_limit_of_calls() -> None:
    [one] = generate_text_rollouts(ScriptedBackend(always("\n".join([LIST] * 10_000))), [EXAMPLE])[0]
    assert (one.end, one.failed_at, len(one.calls)) == ("calls", "policy", 20)


class Clock:
    """A clock that moves only when a test moves it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def slow(self, seconds: float, then: Callable[..., Any]) -> Callable[..., Any]:
        def taking(*arguments: Any) -> Any:
            self.now += seconds
            return then(*arguments)

        return taking


@pytest.mark.parametrize(
    ("generation", "tools", "boundary"), [(40.0, 1.0, "infrastructure"), (1.0, 70.0, "environment")]
)
def test_time_that_is_up_is_laid_to_what_took_most_of_it_and_voids_the_group(
    generation: float, tools: float, boundary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, others = Clock(), Clock()
    monkeypatch.setattr(World, "call", clock.slow(tools, World.call))
    late = Attempt(EXAMPLE, Limits(seconds=60), clock=clock)
    attempts = [late, Attempt(EXAMPLE, Limits(seconds=60), clock=others)]
    backend = ScriptedBackend(clock.slow(generation / 2, always(LIST)), TOKENIZER)  # two rows speak at each step
    made = Engine(backend, TOKENIZER, WIDE).run(attempts, 2)
    assert [one.rollout.failed_at for one in made] == [boundary, "policy"]
    assert made[0].rollout.reward is None and "the limit is 60 s" in made[0].rollout.error
    assert invalid(made) and len(made[0].rollout.calls) < len(made[1].rollout.calls)


def test_a_rollout_that_waits_for_a_turn_too_long_is_ended_while_the_others_go_on() -> None:
    clock = Clock()

    class Stuck(ScriptedBackend):
        """Its row 0 never gets a turn."""

        def step(self) -> list[GenerationResult]:
            clock.now += 25
            found = super().step()
            self.pending |= {turn.row: GenerationRequest(turn.row, (), (), (), 1) for turn in found if turn.row == 0}
            return [turn for turn in found if turn.row]

    attempts = [Attempt(EXAMPLE, Limits(seconds=60), clock=clock), Attempt(EXAMPLE)]
    made = Engine(Stuck(in_turn(*[LIST] * 8), TOKENIZER), TOKENIZER, WIDE).run(attempts)
    assert [one.rollout.failed_at for one in made] == ["infrastructure", None]
    assert made[0].completion_ids == []


def test_a_failure_is_recorded_once_and_nothing_is_run_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    failures = count()

    def broken(*arguments: object) -> None:
        raise ZeroDivisionError(f"bug {next(failures)}")

    monkeypatch.setattr(World, "call", broken)
    [one] = run(always("\n".join([LIST] * 30)))
    assert (one.rollout.failed_at, one.rollout.error) == ("environment", "list_accounts: ZeroDivisionError: bug 0")
    assert len(one.rollout.calls) == 1 and next(failures) == 1


turns = st.sampled_from([LIST, "Done.", "<tool_call>{", "x" * 300, "\n".join([LIST] * 25), "", "<|im_end|> more"])
limits = st.builds(TokenLimits, st.integers(4, 200), st.integers(100, 900), st.integers(0, 40))


@settings(max_examples=60, deadline=None)
@given(st.lists(turns, min_size=1, max_size=8), limits, st.integers(1, 3))
def test_whatever_is_said_within_whatever_limits_ends_for_one_reason(
    texts: list[str], most: TokenLimits, n: int
) -> None:
    for one in run(in_turn(*[text for text in texts for _ in range(n)]), most, n):
        rollout = one.rollout
        assert len(one.completion_ids) == len(one.env_mask) == len(one.logprobs) <= most.completion
        assert (rollout.end == "answered") == (rollout.failed_at is None)
        assert rollout.failed_at in (None, "policy") and rollout.reward is not None and rollout.error == ""


def test_texts_without_tokens_are_refused_for_training() -> None:
    with pytest.raises(
        NoBackend, match=r"ScriptedBackend returns texts without token ids .* Use it only for evaluation"
    ):
        sample(family_model("qwen3"), TOKENIZER, [EXAMPLE], backend=ScriptedBackend(always("")))


def test_the_table_of_limits_equals_the_limits() -> None:
    rows = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \| [^|]+ \|$", PAGE.read_text("utf-8"), re.M))
    ours, tokens = Limits(), TokenLimits()
    turns = f"{ours.assistant_turns}, {ours.user_turns}, {ours.calls} (`Limits`)"
    assert rows["assistant turns, user turns, calls"] == turns
    assert rows["tokens of a turn, of all turns with the answers between them"].startswith(
        f"{tokens.turn}, {tokens.completion:,} "
    )
    assert rows["an observation"].startswith(f"{ours.observation:,} characters") and tokens.observation == 0
    assert rows["seconds"] == f"{ours.seconds:,.0f} (`Limits`)"
