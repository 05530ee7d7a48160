"""Goal success and accuracy of acts: look-ups are free, writes and facts are not, and a question is no call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import networkx as nx
import pytest

from mcp_servers.catalogue import TOOLS
from mcp_servers.world import World
from training_worker.chat.protocol import write_calls
from training_worker.core.trajectory import Example, Kind, Message, Rollout, Step, ToolCall, dumps, loads
from training_worker.environment.episode import Attempt, Limits, demonstration, oracle
from training_worker.reward.acts import ACTS, act_accuracy, compare_acts, count_acts, has_question
from training_worker.reward.final_state import final_state
from training_worker.reward.goal import find_due_facts, goal_success, reaches_goal
from training_worker.reward.success import is_success
from training_worker.synthesis.conversation import Recipe, make
from training_worker.synthesis.knobs import PAPER

SOME = 40
LOOK = write_calls([ToolCall("list_cards", {})])
KINDS: tuple[tuple[Kind, int], ...] = (("chain", 70), ("missing_function", 8), ("irrelevance", 8))


@pytest.fixture(scope="module")
def examples(graph: nx.DiGraph) -> list[Example]:
    made = (
        make(index, "train", graph, Recipe(knobs=PAPER), kind)[0] for kind, count in KINDS for index in range(count)
    )
    return [example for example in made if example]


@pytest.fixture(scope="module")
def chains(examples: list[Example]) -> list[Example]:
    return [example for example in examples if example.kind == "chain"]


@pytest.fixture(scope="module")
def abstention(examples: list[Example]) -> Example:
    return next(example for example in examples if example.abstains)


def list_texts(example: Example) -> list[str]:
    """Return what the perfect assistant says."""
    return [message.content for message in demonstration(example) if message.role == "assistant"]


def speak(example: Example, texts: Sequence[str]) -> Rollout:
    attempt = Attempt(example, Limits(assistant_turns=40, calls=60))
    for text in texts:
        attempt.answer(text)
    return attempt.finish()


def speak_with(example: Example, call: ToolCall) -> Rollout:
    """Return the oracle's rollout with one more call before its last text."""
    *before, last = list_texts(example)
    return speak(example, [*before, write_calls([call]), last])


def strict(rollout: Rollout) -> bool:
    return rollout.reward is not None and is_success(rollout.reward)


def list_writes(example: Example) -> list[ToolCall]:
    return [call for step in example.steps for call in step.calls if TOOLS[call.name][1].writes]


def find_free_read(example: Example) -> ToolCall | None:
    """Return a look-up that takes no arguments and that the ground truth does not make."""
    own = {call.name for step in example.steps for call in step.calls}
    tools = {name: TOOLS[name][1] for name in example.candidates if name not in own}
    reads = (name for name, tool in tools.items() if not tool.writes and not tool.input_schema.get("required"))
    return next((ToolCall(name, {}) for name in reads), None)


def test_the_oracle_reaches_every_goal_and_does_the_right_act_in_every_turn(examples: list[Example]) -> None:
    assert {example.kind for example in examples} == {"chain", "missing_function", "irrelevance"}
    assert {act for example in examples for act in example.acts} >= {"call", "ask", "decline"}
    for example in examples:
        rollout = oracle(example)
        assert rollout.goal_success and act_accuracy([rollout]) == 1, example.id
        assert len(rollout.acts) == len(example.turns)


def test_one_more_read_is_free_and_one_more_write_is_not(examples: list[Example]) -> None:
    reads = writes = 0
    for example in examples[:SOME]:
        if read := find_free_read(example):
            rollout = speak_with(example, read)
            reads += rollout.calls[-1].level == 3
            assert rollout.goal_success and not strict(rollout), example.id
        for call in list_writes(example):
            rollout = speak_with(example, call)
            accepted = rollout.calls[-1].level == 3
            writes += accepted
            assert rollout.goal_success is not accepted, "a refused write changes nothing"
    assert reads > SOME / 4 and writes > SOME / 4


def test_a_write_that_is_undone_again_is_still_one_too_many(chains: list[Example]) -> None:
    example = next(one for one in chains if {"freeze_card", "list_cards"} <= set(one.candidates))
    world = World.open(example.world.seed, example.world.servers, example.world.size)
    card = next(card["id"] for card in world.call("list_cards", {}).data if card["status"] == "active")
    bare = replace(example, edges=(), turns=example.turns[:1], answers=("All is well.",))
    nothing = replace(bare, steps=(), digests=example.digests[:1])
    look = replace(bare, steps=(Step((ToolCall("list_cards", {}),)),), digests=example.digests[:1] * 2)
    calls = [write_calls([ToolCall(name, {"card": card})]) for name in ("freeze_card", "unfreeze_card")]
    for one in (nothing, look):
        idle, undone = (speak(one, [LOOK, *more, "All is well."]) for more in ([], calls))
        assert [made.level for made in undone.calls] == [3, 3, 3] and final_state(one, undone) == 1.0
        assert idle.goal_success and not undone.goal_success


def test_a_write_that_is_left_out_leaves_the_goal_unreached(chains: list[Example]) -> None:
    left_out = 0
    for example in chains:
        writing = {write_calls(step.calls) for step in example.steps if TOOLS[step.calls[0].name][1].writes}
        texts = [text for text in list_texts(example) if text not in writing]
        if writing and len(texts) > len(example.answers):
            left_out += 1
            assert not speak(example, texts).goal_success, example.id
    assert left_out > len(chains) / 4


def test_a_write_with_another_text_leaves_another_world(chains: list[Example]) -> None:
    wrong = 0
    for example in [one for one in chains if "correction" not in one.features]:
        values = [value for call in list_writes(example) for value in (call.arguments or {}).values()]
        for text in sorted({value for value in values if isinstance(value, str) and " " in value}):
            rollout = speak(example, [one.replace(text, f"{text} twice") for one in list_texts(example)])
            if all(made.level == 3 for made in rollout.calls):
                wrong += 1
                assert not rollout.goal_success, (example.id, text)
    assert wrong > 5


def test_facts_that_are_due_have_to_be_stated_in_their_turn(chains: list[Example]) -> None:
    due = 0
    for example in chains:
        facts = find_due_facts(example)
        texts = list_texts(example)
        brief = speak(example, ["Done." if text in example.answers else text for text in texts])
        due += any(facts)
        assert brief.goal_success is not any(facts), example.id
        if any(facts[:-1]):
            late = ["Done." if text in example.answers else text for text in texts]
            assert not speak(example, [*late[:-1], " ".join(example.answers)]).goal_success
    assert len(chains) / 3 < due < len(chains)


def test_a_model_that_calls_nothing_reaches_no_goal_of_a_chain(examples: list[Example]) -> None:
    for example in examples:
        assert speak(example, ["Done."] * len(example.turns)).goal_success is example.abstains
        assert speak(example, example.answers).goal_success is example.abstains, "nor who guesses all facts"
        assert not speak(example, [""] * len(example.turns)).goal_success


def test_a_rollout_that_a_limit_ends_reaches_nothing(chains: list[Example]) -> None:
    for example in chains[:SOME]:
        attempt = Attempt(example, Limits(assistant_turns=len(list_texts(example)) - 1))
        for text in list_texts(example)[:-1]:
            attempt.answer(text)
        rollout = attempt.finish()
        assert rollout.end == "assistant_turns" and rollout.goal_success is False
        assert len(rollout.acts) <= len(example.turns)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Which account do you mean?", True),
        ("I found three cards. Could you tell me which one?", True),
        ("Would you like to use the travel or the business account?", True),
        ("Done. Is there anything else?", False),
        ("I cannot do that. Would you like me to list your cards instead?", False),
        ("How can I help you further?", False),
        ('Your post "Who is in?" is out.', False),
        ("See https://shop.example/find?id=7 for it.", False),
        ("It is 20 euros.", False),
    ],
)
def test_an_offer_of_more_help_asks_nothing(text: str, question: bool) -> None:
    assert has_question(text) is question


def test_acts_are_read_from_the_transcript(chains: list[Example]) -> None:
    example = next(one for one in chains if one.acts[:2] == ("ask", "call"))
    example = replace(example, turns=example.turns[:2], acts=example.acts[:2])
    look = write_calls([ToolCall(example.candidates[0], {})])
    looked_up = speak(example, [look, "Which one?", look, "Done. Which next?"])
    assert looked_up.acts == (("ask", "ask"), ("call", "call"))
    assert speak(example, [look, "Here it is.", "Which?"]).acts == (("ask", "call"), ("call", "ask"))
    assert speak(example, ["Here it is.", "Done."]).acts == (("ask", "text"), ("call", "text"))
    made = [speak(example, ["Here it is.", look]), looked_up]
    assert act_accuracy(made) == 3 / 4 and ACTS == ("call", "ask", "text")
    assert count_acts(made) == [[2, 0, 0], [0, 1, 1], [0, 0, 0]]


def test_turns_that_were_not_reached_count_nowhere(chains: list[Example]) -> None:
    example = next(one for one in chains if one.acts[0] == "call" and len(one.turns) > 1)
    attempt = Attempt(example, Limits(assistant_turns=1))
    attempt.answer("Which one?")
    assert attempt.finish().acts == (("call", "ask"),)


def test_what_was_stored_before_has_neither_and_keeps_its_bytes(chains: list[Example]) -> None:
    example = chains[0]
    rollout = oracle(example)
    old = replace(rollout, goal_success=None, acts=())
    line = dumps(old)
    assert "goal_success" not in line and "acts" not in line and dumps(loads(Rollout, line)) == line
    assert loads(Rollout, dumps(rollout)) == rollout
    assert goal_success([old]) is act_accuracy([old]) is None and goal_success([old, rollout]) == 1


def test_imported_examples_and_failures_of_others_have_neither(abstention: Example) -> None:
    imported = replace(abstention, source="when2call")
    rollout = speak(imported, ["I cannot."])
    assert rollout.reward and rollout.goal_success is None and rollout.acts == ()
    attempt = Attempt(abstention)
    attempt.fail("infrastructure", "The generator is gone.")
    assert attempt.finish().goal_success is None


def test_an_example_without_known_acts_has_no_act_accuracy(abstention: Example) -> None:
    rollout = Rollout(example="", transcript=(Message("user", "Hi."),), calls=(), end="tokens", reward=None)
    assert compare_acts(replace(abstention, acts=()), oracle(abstention)) == ()
    assert compare_acts(abstention, rollout) == () and not reaches_goal(abstention, rollout)
