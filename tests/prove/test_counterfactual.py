"""A rollout without one of its calls, or with another in its place: run for real, scored alike."""

from __future__ import annotations

from tests.prove.known import known_examples
from training_worker.chat.formats import LLAMA3
from training_worker.chat.protocol import write_calls
from training_worker.core.trajectory import Example, Rollout, ToolCall
from training_worker.environment.counterfactual import Edit, counterfactual, rerun
from training_worker.environment.episode import Attempt, Limits, oracle


def examples() -> tuple[Example, ...]:
    return known_examples(40)


def chains() -> list[Example]:
    return [example for example in examples() if example.steps]


def attempt(example: Example, *texts: str, truncated: bool = False, limits: Limits | None = None) -> Rollout:
    running = Attempt(example, limits)
    for text in texts:
        running.answer(text, truncated=truncated)
    return running.finish()


def wild(example: Example) -> list[Rollout]:
    """Return attempts that go wrong in all ways: malformed, unknown, repeated, parallel, cut, over a limit, silent."""
    first = example.steps[0].calls[0]
    good, unknown = write_calls([first]), write_calls([ToolCall("no_such_tool", {"x": 1})])
    return [
        attempt(example, "Nothing to do.", *["Nothing."] * len(example.turns)),
        attempt(example, f"Well. {unknown}", good, good, "Done.", *["Done."] * len(example.turns)),
        attempt(example, write_calls([first, first]), "<tool_call>{oops</tool_call>", "Done."),
        attempt(example, good, limits=Limits(assistant_turns=1)),
        attempt(example, f"{good}{good}", limits=Limits(calls=1)),
        attempt(example, good, truncated=True),
    ]


def test_an_unedited_rollout_is_what_it_was_reward_and_all() -> None:
    for example in examples():
        rollout = oracle(example)
        assert rerun(example, rollout, rollout.calls) == rollout


def test_a_rollout_that_went_wrong_is_rerun_to_the_same_calls_and_reward() -> None:
    for example in chains()[:6]:
        for rollout in wild(example):
            again = rerun(example, rollout, rollout.calls)
            assert (again.calls, again.reward, again.digest) == (rollout.calls, rollout.reward, rollout.digest)


def test_leaving_out_a_call_that_is_due_costs_and_what_needed_it_may_fail() -> None:
    for example in chains():
        rollout = oracle(example)
        for position in range(len(rollout.calls)):
            found = counterfactual(example, rollout, Edit(position))
            assert found.before == rollout
            assert len(found.after.calls) == len(rollout.calls) - 1
            assert found.after.reward.total < rollout.reward.total


def test_a_call_replaced_by_itself_changes_nothing() -> None:
    example = chains()[0]
    rollout = oracle(example)
    found = counterfactual(example, rollout, Edit(0, rollout.calls[0].call))
    assert found.after == rollout and found.calls[0].before is None
    assert not any(one.differs for one in found.calls[1:])


def test_a_better_call_in_the_place_of_a_bad_one_earns_what_it_lost() -> None:
    example = chains()[0]
    texts = [write_calls(step.calls) for step in example.steps if step.turn == 0]
    bad = write_calls([ToolCall(example.steps[0].calls[0].name, {"nonsense": 1})])
    rollout = attempt(example, bad, *texts[1:], "Done.")
    found = counterfactual(example, rollout, Edit(0, example.steps[0].calls[0]))
    assert found.after.reward.total > found.before.reward.total == rollout.reward.total


def test_a_turn_that_loses_its_only_call_does_not_end_the_users_turn() -> None:
    example = next(one for one in chains() if len({step.turn for step in one.steps}) > 1)
    rollout = oracle(example)
    found = counterfactual(example, rollout, Edit(0))
    users = [message.content for message in found.after.transcript if message.role == "user"]
    assert users == list(example.turns)


def test_the_text_of_what_is_not_edited_stays_in_whatever_format_it_was_written() -> None:
    example = chains()[0]
    running = Attempt(example, format=LLAMA3)
    running.answer(LLAMA3.write(example.steps[0].calls))
    rollout = running.finish()
    again = rerun(example, rollout, rollout.calls)
    assert again.transcript == rollout.transcript


def test_what_a_call_did_to_the_world_is_not_done_when_it_is_left_out() -> None:
    example = next(one for one in chains() if one.digests[-2] != one.digests[-1])
    found = counterfactual(example, oracle(example), Edit(len(oracle(example).calls) - 1))
    assert found.before.digest == example.digests[-1] and found.after.digest == example.digests[-2]
