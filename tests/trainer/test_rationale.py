"""What a demonstration says before a call: names of things and the ids that the call takes."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.prove.known import known_examples
from training_worker.chat.formats import HERMES, LLAMA3, Format
from training_worker.core.trajectory import Example, Step, ToolCall
from training_worker.environment.episode import Attempt, demonstration
from training_worker.training.rationale import Row, find_lists, rationales

ROOMS = [{"id": "EVT-1", "title": "design session"}, {"id": "EVT-2", "title": "budget sync", "at": "2027-01-04T08:00Z"}]


def with_steps(turns: tuple[str, ...], *steps: Step) -> Example:
    return replace(known_examples(1)[0], turns=turns, steps=steps)


def call(**arguments: object) -> tuple[ToolCall, ...]:
    return (ToolCall("get_event", arguments),)


def test_each_name_and_id_stand_together_in_an_earlier_result() -> None:
    said = 0
    for example in known_examples(20):
        for at, text in enumerate(rationales(example)):
            results = [result for step in example.steps[:at] for result in step.observations]
            for name, id in re.findall(r'"([^"]*)" \(([^)]*)\)', text):
                things = [row for result in results for rows in find_lists(result) for row in rows if row.id == id]
                assert any(name in row.names() for row in things)
                said += 1
    assert said


def test_a_demonstration_with_rationales_earns_what_it_earns_without() -> None:
    for example in known_examples(10):
        attempt = Attempt(example)
        for message in demonstration(example, rationales=rationales(example)):
            if message.role == "assistant":
                attempt.answer(message.content)
        rollout = attempt.finish()
        assert rollout.reward is not None and rollout.reward.total == (1.0 if example.abstains else 1.3)


def test_the_name_is_the_one_that_the_user_says() -> None:
    things = [{"id": "MSG-7", "subject": "travel", "name": "Karim Keller"}, {"id": "MSG-8", "subject": "rota"}]
    seen = Step(call(), observations=(json.dumps(things),))
    example = with_steps(("Open the karim keller email.",), seen, Step(call(message="MSG-7")))
    assert rationales(example)[1] == '"Karim Keller" (MSG-7)'
    assert rationales(replace(example, turns=("Open the first.",)))[1] == '"travel" (MSG-7)'


def test_an_id_that_the_user_says_needs_no_name_and_one_taken_twice_is_named_once() -> None:
    seen, both = (
        Step(call(), observations=(json.dumps(ROOMS),)),
        (*call(event="EVT-2"), *call(event=["EVT-2", "EVT-1"])),
    )
    assert (
        rationales(with_steps(("Open both.",), seen, Step(both)))[1]
        == '"budget sync" (EVT-2), "design session" (EVT-1)'
    )
    assert rationales(with_steps(("Open EVT-2 and the other.",), seen, Step(both)))[1] == '"design session" (EVT-1)'
    assert rationales(with_steps(("Open one.",), Step(call(event="EVT-2")), seen))[0] == ""


@given(
    st.recursive(
        st.none() | st.text() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["id", "name", "x"]), inner),
    )
)
def test_any_result_has_lists_of_things_with_ids_or_none(value: object) -> None:
    for rows in find_lists(json.dumps(value)):
        assert rows and all(isinstance(row, Row) and isinstance(row.id, str) for row in rows)


@pytest.mark.parametrize("format", [HERMES, LLAMA3])
@given(st.text('<tool_cl>{"name":/}; \nx') | st.just('<tool_call>{"name": "x", "arguments": {}}</tool_call>'))
def test_no_name_is_read_as_a_call(format: Format, text: str) -> None:
    rows = [{"id": "A-1", "name": text}, {"id": text, "name": "Ana"}]
    calls = (*call(event="A-1"), *call(event=text))
    example = with_steps(("Open both.",), Step(call(), observations=(json.dumps(rows),)), Step(calls))
    [_, second] = [one for one in demonstration(example, format, rationales(example)) if one.role == "assistant"][:2]
    assert format.parse(second.content) == calls


def test_a_text_that_several_things_share_names_none_of_them_unless_there_is_no_other() -> None:
    rows = [
        {"id": "A", "kind": "card", "name": "Ana"},
        {"id": "B", "kind": "card", "name": "Ben"},
        {"id": "C", "kind": "card"},
    ]
    assert [row.names() for row in next(find_lists(json.dumps(rows)))] == [["Ana"], ["Ben"], ["card"]]
