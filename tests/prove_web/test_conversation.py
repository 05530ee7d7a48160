"""Conversations as pages show them: the same from an example and from the rollout of its demonstration."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from django.template.loader import render_to_string

from prove_web.trajectories.conversation import CallCard, Turn, of_example, of_rollout
from prove_web.trajectories.metadata import facts_of
from prove_web.trajectories.provenance import SourceCall
from training_worker.chat.formats import FORMATS, LLAMA3, Format
from training_worker.chat.messages import ARRIVED
from training_worker.chat.protocol import write_calls
from training_worker.core.trajectory import Alternative, Arrival, Example, Failure, Rollout, Step, ToolCall
from training_worker.environment.episode import Attempt, Limits, demonstration, oracle

from .examples import abstention, chain, examples, sequences


def attempt(
    example: Example, *texts: str, truncated: bool = False, limits: Limits | None = None, form: Format = FORMATS[0]
) -> Rollout:
    running = Attempt(example, limits, format=form)
    for text in texts:
        running.answer(text, truncated=truncated)
    return running.finish()


def cards(turns: list[Turn]) -> list[CallCard]:
    return [call for turn in turns for call in turn.calls]


def chips(card: CallCard) -> list[str]:
    return [chip.text for chip in card.chips]


def summary(turns: list[Turn]) -> list[tuple[str, str, list[CallCard]]]:
    return [(turn.role, turn.text, [replace(card, fed=()) for card in turn.calls]) for turn in turns]


def fed_by_a_result() -> Example:
    """Return an example whose last call takes a value from an earlier result."""
    return next(one for one in examples() if one.steps and any(fed.argument for fed in cards(of_example(one))[-1].fed))


def of_call(arguments: dict[str, Any], result: str = "", tool: str = "list_accounts") -> CallCard:
    return CallCard(position=0, tool=tool, server="", arguments=arguments, result=result, level=3)


def rendered(turns: list[Turn]) -> str:
    return render_to_string("kit/conversation.html", {"turns": turns})


def test_an_example_and_the_rollout_of_its_demonstration_read_the_same() -> None:
    for example in [replace(one, alternatives=()) for one in examples()]:
        rollout = oracle(example)
        assert summary(of_example(example, rollout.reward)) == summary(of_rollout(rollout, example))


def test_every_user_turn_call_and_closing_word_of_an_example_appears_once_and_in_order() -> None:
    for example in examples():
        turns = of_example(example)
        assert [turn.text for turn in turns if turn.role == "user"] == list(example.turns)
        assert [turn.text for turn in turns if turn.role == "assistant" and turn.text] == list(example.answers)
        made = [(call.name, call.arguments) for step in example.steps for call in step.calls]
        assert [(card.tool, card.arguments) for card in cards(turns)] == made
        assert [card.position for card in cards(turns)] == list(range(len(made)))
        assert turns[0].role == "user"


def test_a_tool_that_arrives_is_named_beside_the_words_of_its_turn() -> None:
    plain = next(one for one in examples() if len(one.turns) == 2)
    tool = next(name for name in plain.candidates if all(c.name != name for step in plain.steps for c in step.calls))
    candidates = tuple(name for name in plain.candidates if name != tool)
    example = replace(plain, candidates=candidates, arrivals=(Arrival(1, (tool,)),))
    rollout = oracle(example)
    for turns in (of_example(example), of_rollout(rollout, example)):
        users = [turn for turn in turns if turn.role == "user"]
        assert [(turn.text, turn.new_tools) for turn in users] == [(plain.turns[0], ()), (plain.turns[1], (tool,))]
        assert f"<code>{tool}</code>" in rendered(turns) and ARRIVED not in rendered(turns)
    assert ARRIVED in next(turn.text for turn in of_rollout(rollout)[::-1] if turn.role == "user")
    assert [(one.name, one.turn) for one in facts_of(example).candidates if one.turn > 1] == [(tool, 2)]


def test_a_failure_stands_where_it_happened_and_counts_as_no_call() -> None:
    example = next(one for one in sequences() if len(one.steps) > 1 and one.steps[1].turn == 0)
    call = ToolCall("get_account", {"account": "<b>travel</b>"})
    on_the_way = Failure(1, 0, call, '{"error":"not_found"}', "corrected")
    at_the_end = Failure(len(example.steps), len(example.turns) - 1, call, '{"error":"gone"}', "gave_up")
    turns = of_example(replace(example, failures=(on_the_way, at_the_end)))
    calls = cards(turns)
    assert calls[1].arguments == calls[-1].arguments == call.arguments and len(calls) == len(example.steps) + 2
    assert chips(calls[1]) == ["Refused", "Failed, then corrected"] and chips(calls[-1])[1] == "Failed, and explained"
    assert [card.number for card in calls if card.number] == list(range(1, len(example.steps) + 1))
    assert "<b>travel" not in rendered(turns)


def test_every_edge_stands_at_the_later_call() -> None:
    for example in sequences():
        for earlier, later in example.edges:
            assert earlier in {fed.source for fed in cards(of_example(example))[later].fed}


def test_the_argument_that_a_result_gave_is_named() -> None:
    steps = (
        Step((ToolCall("list_cards", {}),), 0, ('[{"id":"CRD-1111","account":"ACC-2222"}]',)),
        Step((ToolCall("transfer_money", {"source": "ACC-2222", "target": "ACC-9999", "amount": 1}),), 0, ("{}",)),
        Step((ToolCall("list_accounts", {}),), 0, ("[]",)),
    )
    example = replace(chain(), turns=("Do.",), steps=steps, edges=((0, 1), (1, 2)), answers=("Done.",))

    assert [card.fed for card in cards(of_example(example))] == [(), (SourceCall(0, "source"),), (SourceCall(1, ""),)]


def test_parallel_calls_of_one_step_share_a_turn_and_its_edges() -> None:
    first, *others = chain().steps
    twice = replace(first, calls=first.calls * 2, observations=first.observations * 2)
    example = replace(chain(), turns=("Do.",), steps=(twice, replace(others[0], turn=0)), edges=((0, 1),))

    turns = of_example(example)

    assert [len(turn.calls) for turn in turns if turn.calls] == [2, 1]
    assert {fed.source for fed in cards(turns)[2].fed} == {0, 1}


def test_a_call_in_a_rollout_says_what_it_earned() -> None:
    example = chain()
    turns = of_rollout(oracle(example), example)
    assert chips(cards(turns)[0]) == ["Executed", "Step 1", "In order", "Arguments 100%"]


def test_a_call_out_of_order_and_one_with_wrong_arguments_say_so() -> None:
    example = next(one for one in examples() if (0, 1) in one.edges and one.steps[1].calls[0].arguments)
    call = example.steps[1].calls[0]
    wrong = {name: "nothing of the kind" for name in call.arguments or {}}
    turns = of_rollout(attempt(example, write_calls([replace(call, arguments=wrong)])), example)

    [card] = cards(turns)

    assert "Out of order" in chips(card) and "Arguments 0%" in chips(card)
    name, value = next(iter((call.arguments or {}).items()))
    assert card.notes[0] == f"“{name}” differs: the ground truth has {json.dumps(value)}."


def test_calls_where_none_was_due_say_so() -> None:
    example = abstention()
    call = ToolCall(example.candidates[0], {})
    [card] = cards(of_rollout(attempt(example, write_calls([call])), example))
    assert "No call expected" in chips(card)


def test_a_broken_call_appears_as_it_was_written() -> None:
    written = "Let me see.\n<tool_call>\n{'name': oops\n</tool_call>"
    rollout = attempt(chain(), written)
    turn = of_rollout(rollout, chain())[1]

    assert (turn.text, turn.raw) == ("Let me see.", written)
    assert turn.calls[0].arguments is None and chips(turn.calls[0]) == ["Unknown or malformed"]


def test_a_text_argument_that_looks_like_a_number_differs_from_one() -> None:
    card = of_call({"number": 1, "digits": "1", "words": "one", "none": None, "empty": "", "list": [1]})
    assert card.typed == {
        "number": "1",
        "digits": '"1"',
        "words": "one",
        "none": "null",
        "empty": "",
        "list": "[\n  1\n]",
    }


def test_a_text_cut_by_the_token_limit_appears_in_full() -> None:
    rollout = attempt(chain(), "I will do it, as soon as", truncated=True)
    assert of_rollout(rollout, chain())[-1].text == "I will do it, as soon as"

    written = '<tool_call>\n{"name": "list_ac'
    turn = of_rollout(attempt(chain(), written, truncated=True), chain())[-1]
    assert turn.raw == written and len(turn.calls) == 1


def test_calls_beyond_the_limit_appear_as_not_run() -> None:
    example = chain()
    call = example.steps[0].calls[0]
    rollout = attempt(example, write_calls([call] * 3), limits=Limits(calls=2))

    calls = cards(of_rollout(rollout, example))

    assert [card.position for card in calls] == [0, 1, None]
    assert chips(calls[-1]) == ["Not run"] and "too_many_calls" in calls[-1].result


def test_a_rollout_reads_the_same_however_its_model_writes_calls() -> None:
    for example in examples():
        spoken = [[one.content for one in demonstration(example, form) if one.role == "assistant"] for form in FORMATS]
        rollouts = [attempt(example, *texts, form=form) for form, texts in zip(FORMATS, spoken, strict=True)]
        assert summary(of_rollout(rollouts[0], example)) == summary(of_rollout(rollouts[1], example))


def test_words_and_calls_of_a_llama_are_separate_and_so_are_those_that_were_not_run() -> None:
    call = ToolCall("list_accounts", {})
    text = f"Let me see.\n{LLAMA3.write([call, call])}"
    limits = Limits(calls=1)
    turn = of_rollout(attempt(chain(), text, limits=limits, form=LLAMA3), chain())[1]
    assert turn.text == "Let me see." and [chips(card)[0] for card in turn.calls][1:] == ["Not run"]

    none = of_rollout(attempt(chain(), text, limits=Limits(calls=0), form=LLAMA3), chain())[1]
    assert [chips(card) for card in none.calls] == [["Not run"]] * len(none.calls) and none.calls


def test_a_rollout_without_a_reward_appears_all_the_same() -> None:
    example = chain()
    rollout = replace(oracle(example), reward=None, failed_at="environment", error="the server broke")
    assert chips(cards(of_rollout(rollout, example))[0]) == ["Executed"]


def test_a_value_is_traced_to_the_first_result_that_held_it_unless_the_user_said_it() -> None:
    example = fed_by_a_result()
    texts = [message.content for message in demonstration(example) if message.role == "assistant"]
    calls = cards(of_rollout(attempt(example, *texts), example))
    said = " ".join(example.turns)
    for card in calls:
        for fed in card.fed:
            assert str((card.arguments or {})[fed.argument]) in calls[fed.source].result
            assert str((card.arguments or {})[fed.argument]) not in said
    assert any(card.fed for card in calls)


def test_a_page_shows_each_call_with_its_address_and_links_to_what_fed_it() -> None:
    example = fed_by_a_result()
    html = rendered(of_example(example))
    last = cards(of_example(example))[-1]
    assert f'id="{last.anchor}"' in html and f'href="#{last.fed[0].anchor}"' in html


def test_the_alternatives_of_a_look_up_stand_under_its_call_and_nowhere_else() -> None:
    example = fed_by_a_result()
    other = ToolCall("search_accounts", {"text": "<b>", "limit": 5})
    turns = of_example(replace(example, alternatives=(Alternative(0, 0, other),)))
    assert [card.alternatives for card in cards(turns)] == [
        ('search_accounts(text="<b>", limit=5)',),
        *[()] * (len(cards(turns)) - 1),
    ]
    html = rendered(turns)
    assert html.count("or: <code>") == 1 and "search_accounts(text=&quot;&lt;b&gt;&quot;, limit=5)" in html


@pytest.mark.parametrize("place", ["turn", "argument", "result", "tool", "raw"])
def test_untrusted_text_is_escaped_wherever_it_stands(place: str) -> None:
    attack = "<script>alert(1)</script>"
    text = {"turn": attack}.get(place, "hello")
    arguments = {attack: {"deep": attack}} if place == "argument" else {}
    result, tool = attack if place == "result" else "", attack if place == "tool" else "list_accounts"
    card = of_call(arguments, result, tool)
    html = rendered([Turn("user", text), Turn("assistant", "", (card,), attack if place == "raw" else "")])
    assert "<script" not in html and "&lt;script&gt;" in html


def test_a_long_result_or_argument_is_folded_and_never_cut() -> None:
    result = json.dumps([{"row": number} for number in range(5000)])
    html = rendered([Turn("assistant", "", (of_call({"text": "long " * 1000 + "end"}, result),))])
    assert html.count("<details") == 2 and "4999" in html and "long end" in html
