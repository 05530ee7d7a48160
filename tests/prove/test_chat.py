"""Tool calls in text: what is written is read again, and what is crooked is one malformed call."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_worker.chat.protocol import MAX_DEPTH, ScriptedModel, depth, parse_calls, write_calls
from training_worker.core.trajectory import ToolCall

MALFORMED = ToolCall("", None)
any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["</tool_call>", "<tool_call>", "a</tool_call>b", "<\\/tool_call>", "</"]
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=10,
)
calls = st.builds(ToolCall, any_text, st.dictionaries(any_text, json_values, max_size=4))


@given(st.lists(calls, max_size=4))
def test_calls_written_are_the_calls_read(written: list[ToolCall]) -> None:
    assert parse_calls(write_calls(written)) == tuple(written)


@given(st.lists(calls, min_size=1, max_size=3), st.text("abc <>/\n"), st.text("abc <>/\n"))
def test_words_around_the_calls_change_nothing(written: list[ToolCall], before: str, after: str) -> None:
    assert parse_calls(f"{before}{write_calls(written)}{after}") == tuple(written)


@given(st.text(st.characters()).filter(lambda text: "<tool_call>" not in text))
def test_a_text_without_a_tag_has_no_call(text: str) -> None:
    assert parse_calls(text) == ()


@given(st.lists(st.text(st.characters(), max_size=20), max_size=5))
def test_every_tag_is_one_call_whatever_is_in_it(bodies: list[str]) -> None:
    text = "".join(f"<tool_call>{body.replace('<', '')}</tool_call>" for body in bodies)
    assert len(parse_calls(text)) == len(bodies)


@pytest.mark.parametrize(
    "body",
    ["", "{", "[]", "1", "null", '"x"', "{}", '{"name": 1}', '{"arguments": {}}', '{"name": "a", "arguments": "{}"}',
     '{"name": "a", "arguments": null}', '{"name": "a", "arguments": {"x": Infinity}}', "{'name': 'a'}",
     '{"name": "a", "arguments": {"x": -1e400}}', '{"name": "a", "arguments": {"x": "\\udc00"}}',
     '{"name": "\\ud800", "arguments": {}}', '{"name": "a", "arguments": {}} {}', "__import__('os').getcwd()"],
)  # fmt: skip
def test_what_is_not_a_name_with_an_arguments_object_is_malformed(body: str) -> None:
    assert parse_calls(f"<tool_call>{body}</tool_call>") == (MALFORMED,)


def test_a_call_without_arguments_has_none_and_one_that_is_not_closed_is_malformed() -> None:
    assert parse_calls('<tool_call>{"name": "a"}</tool_call>') == (ToolCall("a", {}),)
    assert parse_calls('<tool_call>{"name": "a"}') == (MALFORMED,)


@pytest.mark.parametrize("levels", [1, MAX_DEPTH, MAX_DEPTH + 1, 200])
def test_nesting_is_counted_and_has_a_limit(levels: int) -> None:
    nested: object = 0
    for _ in range(levels - 1):
        nested = [nested]
    arguments = {"a": nested}
    assert depth(arguments) == levels
    (call,) = parse_calls(write_calls([ToolCall("a", arguments)]))
    assert (call == ToolCall("a", arguments)) == (levels <= MAX_DEPTH)


def test_a_scripted_model_says_its_lines_and_then_nothing() -> None:
    model = ScriptedModel(["one", "two"])
    assert [model.reply([], []) for _ in range(3)] == ["one", "two", ""]
