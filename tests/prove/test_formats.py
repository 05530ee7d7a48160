"""Tool calls as families of models write them: what is written is read again, and no text makes a reader fail."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from training_worker.chat.formats import FORMATS, HERMES, LLAMA3, Format
from training_worker.chat.formats.llama3 import TAG
from training_worker.core.trajectory import ToolCall

MALFORMED = ToolCall("", None)
ANY = pytest.mark.parametrize("form", FORMATS, ids=["hermes", "llama3"])
FEW = settings(max_examples=30)
MANY = 12_000
ODD = ["</tool_call>", "<tool_call>", TAG, "<\\/tool_call>", "; {", '"}', '{"name": "x"', "\\", "\n"]
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(ODD)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)
calls = st.builds(ToolCall, texts, st.dictionaries(texts, values, max_size=4))
fragments = st.lists(
    st.sampled_from([*ODD, "{", "}", '"name"', '"parameters"', ":", " ", ";", "<tool_call>", "[", "1", '"f"'])
    | st.text()
).map("".join)


@ANY
@FEW
@given(st.lists(calls, max_size=4))
def test_calls_written_are_the_calls_read(form: Format, written: list[ToolCall]) -> None:
    assert form.parse(form.write(written)) == tuple(written)


@ANY
@FEW
@given(st.lists(calls, max_size=4), st.integers(0, 5))
def test_no_more_calls_are_read_than_requested(form: Format, written: list[ToolCall], most: int) -> None:
    assert form.parse(form.write(written), most) == tuple(written[:most])


@ANY
@FEW
@given(st.text(st.characters()) | fragments)
def test_any_text_is_read_and_what_is_read_is_a_call_or_malformed(form: Format, text: str) -> None:
    for call in form.parse(text):
        assert call == MALFORMED or (isinstance(call.arguments, dict) and json.dumps(call.arguments, allow_nan=False))
    assert form.parse(text, 1) == form.parse(text)[:1] and isinstance(form.strip_calls(text), str)


@ANY
@FEW
@given(st.lists(calls, min_size=1, max_size=3))
def test_the_words_are_what_stands_beside_the_calls(form: Format, written: list[ToolCall]) -> None:
    text = f"Let me see.\n{form.write(written)}"
    assert form.parse(text) == tuple(written) and form.strip_calls(text) == "Let me see."
    assert form.strip_calls(form.write(written)) == ""


@ANY
@pytest.mark.parametrize(
    "text", ["", "It costs {1}.", "[1, 2]", '{"balance": 3}', "a; b", "def f(): {}", "The name: x"]
)
def test_a_text_that_is_no_call_is_no_call(form: Format, text: str) -> None:
    assert form.parse(text) == () and form.strip_calls(text) == text.strip()


@ANY
@pytest.mark.parametrize(
    "text",
    ["{" * MANY, '{"name": ' * MANY, "[" * MANY, "<tool_call>" * MANY, TAG * MANY, "<tool_call>{" * MANY,
     "\n" * 10 * MANY, '{"name": "a", "parameters": {"x": ' * MANY, '{"name": "a"}\n' * MANY, "; " * 5 * MANY,
     "<" * 10 * MANY, f'{TAG}{{"name": "' + "a" * 10 * MANY, "{ " * 5 * MANY, '{"type": 1}' * MANY,
     "<tool_call>\n" + "[" * 10 * MANY],
    ids=range(15),
)  # fmt: skip
def test_a_hundred_kilobytes_of_hostile_text_are_read_in_one_go(form: Format, text: str) -> None:
    found = form.parse(text)
    assert all(call == MALFORMED for call in found) and len(form.parse(text, 3)) <= 3
    assert len(form.strip_calls(text)) <= len(text)


WEATHER = ToolCall("weather", {"city": "Paris"})
TIME = ToolCall("time", {})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"name": "weather", "parameters": {"city": "Paris"}}', [WEATHER]),
        ('{"name": "weather", "arguments": {"city": "Paris"}}', [WEATHER]),
        ('{"parameters": {"city": "Paris"}, "name": "weather"}', [WEATHER]),
        ('{"type": "function", "name": "weather", "parameters": {"city": "Paris"}}', [WEATHER]),
        ('{"name": "weather", "parameters": {"city": "Paris"}}; {"name": "time", "parameters": {}}', [WEATHER, TIME]),
        ('{"name": "weather", "parameters": {"city": "Paris"}}\n{"name": "time", "parameters": {}}', [WEATHER, TIME]),
        ('{"name":"weather","parameters":{"city":"Paris"}};{"name":"time","parameters":{}};', [WEATHER, TIME]),
        (f'{TAG}{{"name": "time"}}', [TIME]),
        (f'{TAG} {{\n "name": "weather", "parameters": {{"city": "Paris"}}}}', [WEATHER]),
        ('Let me look.\n{"name": "time", "parameters": {}}\nThere.', [TIME]),
        ('{"balance": 3}\n{"name": "time", "parameters": {}}', [TIME]),
    ],
)
def test_a_llama_writes_calls_in_several_ways(text: str, found: list[ToolCall]) -> None:
    assert LLAMA3.parse(text) == tuple(found)


@pytest.mark.parametrize(
    "text",
    ['{"name": "time", "parameters": {', '{"name": "time", "param', '{"name": "time", "parameters": "{}"}', TAG,
     '{"name": 1, "parameters": {}}', '{"name": "time", "parameters": null}', f'{TAG}weather.call(city="Paris")',
     '{"name": "time", "parameters": {"x": NaN}}', '{"name": "time", "parameters": {"x": 1e999}}', f"{TAG}{{}}",
     '{"name": "time", "parameters": {"x": "\\ud800"}}',
     "{'name': 'time', 'parameters': {}}".replace("'name'", '"name"')],
)  # fmt: skip
def test_a_llamas_call_that_is_broken_or_cut_is_read_as_malformed(text: str) -> None:
    assert LLAMA3.parse(text) == (MALFORMED,)


@pytest.mark.parametrize(
    "text",
    ['{"name": "Maria Lopez", "balance": 3}', 'Call {"name": "time", "parameters": {}} to see.',
     '{"answer": {"name": 1}}', "I would use <tool_call>."],
)  # fmt: skip
def test_json_that_only_looks_like_a_llamas_call_is_an_answer(text: str) -> None:
    assert LLAMA3.parse(text) == ()


def test_the_calls_of_one_format_are_no_calls_in_the_other() -> None:
    assert LLAMA3.parse(HERMES.write([TIME])[len("<tool_call>") :].replace("arguments", "x")) == ()
    assert HERMES.parse(LLAMA3.write([TIME])) == ()
