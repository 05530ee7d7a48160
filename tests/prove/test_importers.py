"""Foreign data sets in the formats of their files: either all rows come in, or none, and each bad row is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from training_worker.chat.json_schema import parameters_of
from training_worker.chat.protocol import write_calls
from training_worker.core.trajectory import Example, ForeignTool, Step, ToolCall, UnreadableData
from training_worker.datasets import dataset_folder
from training_worker.datasets.importers.formats import FORMATS, ImportRefused, ImportResult, load, make
from training_worker.datasets.replay import verify
from training_worker.environment.episode import Attempt, NotCertified, Prompt, demonstration, oracle
from training_worker.reward import form_level

STATIONS = {
    "name": "get_stations_within_1_km",
    "description": "Fetch the nearest charging stations.",
    "parameters": {
        "type": "dict",
        "properties": {"region": {"description": "The region code.", "type": "str", "default": ""}},
    },
    "required": ["region"],
}
REFUSAL = "Apologies, but I'm unable to do that."
SFT = {
    "tools": [json.dumps(STATIONS)],
    "messages": [{"role": "user", "content": "What is trending?"}, {"role": "assistant", "content": REFUSAL}],
}
PREFERENCE = {
    "tools": [STATIONS],
    "messages": [{"role": "user", "content": "Fetch company details."}],
    "chosen_response": {"role": "assistant", "content": "Which company do you mean?"},
    "rejected_response": {"role": "assistant", "content": "<TOOLCALL>[]</TOOLCALL>"},
}
CALLED = PREFERENCE | {"chosen_response": {"role": "assistant", "content": '<TOOLCALL>[{"name": "f"}]</TOOLCALL>'}}
QUESTION = {
    "uuid": "1f8221f0",
    "source": "BFCL v2 Live Simple",
    "question": "Get the identifier of an ironing service.",
    "correct_answer": "cannot_answer",
    "answers": {"direct": "It is 2.", "tool_call": "{}", "request_for_info": "Which?", "cannot_answer": REFUSAL},
    "target_tool": None,
    "tools": [],
    "orig_tools": [json.dumps(STATIONS)],
}
IRRELEVANT = {
    "id": 7,
    "query": "Where can I find live giveaways?",
    "tools": json.dumps(
        [
            {
                "name": "find",
                "description": "Find a thing.",
                "parameters": {
                    "type": {"description": "Its type.", "type": "str", "default": "game"},
                    "ids": {"description": "Ids.", "type": "List[int]"},
                    "page": {"description": "Page.", "type": "int, optional"},
                },
            }
        ]
    ),
    "answers": "[]",
}
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
CHAT = {
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Weather in Rome and Oslo?"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}},
                {"id": "b", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "sun"},
        {"role": "tool", "tool_call_id": "b", "content": "snow"},
        {"role": "assistant", "content": "Sun, and snow."},
        {"role": "user", "content": "Thanks"},
        {"role": "assistant", "content": "You are welcome."},
    ],
    "tools": [WEATHER],
}
BFCL = {
    "id": "simple_0",
    "question": [[{"role": "user", "content": "The area of a triangle of base 10 and height 5?"}]],
    "function": [
        {
            "name": "math.area",
            "description": "The area.",
            "parameters": {
                "type": "dict",
                "properties": {"base": {"type": "integer"}, "height": {"type": "float"}, "unit": {"type": "string"}},
                "required": ["base", "height"],
            },
        }
    ],
}
RIGHT = {"id": "simple_0", "ground_truth": [{"math.area": {"base": [10, 10.0], "height": [5], "unit": ["m", ""]}}]}
ROWS = {"when2call": SFT, "xlam-irrelevance": IRRELEVANT, "openai": CHAT}


def imported(name: str, at: Path, *rows: Any, **more: Any) -> ImportResult:
    path = at / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return load(path, FORMATS[name], **more)


def only(name: str, at: Path, row: Any, **more: Any) -> Example:
    (example,) = imported(name, at, row, **more).examples
    return example


def test_when2call_gives_what_needs_no_call_and_counts_the_rest(tmp_path: Path) -> None:
    due = QUESTION | {"correct_answer": "tool_call"}
    found = imported("when2call", tmp_path, SFT, PREFERENCE, CALLED, QUESTION, due, SFT)
    assert [example.turns[0] for example in found.examples] == [
        "What is trending?",
        "Fetch company details.",
        "Get the identifier of an ironing service.",
    ]
    assert [example.answers[0] for example in found.examples] == [REFUSAL, "Which company do you mean?", REFUSAL]
    assert [example.split for example in found.examples] == ["train", "train", "held_out"]  # its test files are one
    assert found.left_out == {"a call is due": 2, "it repeats another": 1} and found.rows == 6
    assert all(example.abstains and example.certified for example in found.examples)
    parameters = found.examples[0].tools[0].parameters
    assert parameters["required"] == ["region"] and parameters["properties"]["region"]["type"] == "string"


def test_xlam_parameters_that_lie_flat_become_a_schema(tmp_path: Path) -> None:
    example = only("xlam-irrelevance", tmp_path, IRRELEVANT)
    (tool,) = example.tools
    assert set(tool.parameters["properties"]) == {"type", "ids", "page"}
    assert tool.parameters["required"] == ["ids"]  # one has a default, one says that it is optional
    assert tool.parameters["properties"]["ids"]["type"] == "array"
    assert example.candidates == ("find",) and example.kind == "irrelevance"


def test_a_chat_keeps_turns_parallel_calls_answers_and_its_system_text(tmp_path: Path) -> None:
    example = only("openai", tmp_path, CHAT)
    assert example.system == "Be brief." and example.turns == ("Weather in Rome and Oslo?", "Thanks")
    calls = (ToolCall("weather", {"city": "Rome"}), ToolCall("weather", {"city": "Oslo"}))
    assert example.steps == (Step(calls, 0, ("sun", "snow")),)
    assert example.answers == ("Sun, and snow.", "You are welcome.")
    assert not example.certified and example.kind == "chain"
    assert [message.role for message in Prompt(example).opening] == ["system", "user"]
    said = demonstration(example)
    assert [message.role for message in said] == ["assistant", "tool", "tool", "assistant", "user", "assistant"]


def test_bfcl_joins_questions_with_their_possible_answers(tmp_path: Path) -> None:
    (tmp_path / "possible_answer").mkdir()
    (tmp_path / "possible_answer" / "rows.jsonl").write_text(json.dumps(RIGHT) + "\n")
    example = only("bfcl", tmp_path, BFCL)
    assert example.steps == (Step((ToolCall("math.area", {"base": 10, "height": 5}),)),)
    assert example.split == "held_out"  # a benchmark
    assert only("bfcl", tmp_path, BFCL, split="train").split == "train"
    properties = example.tools[0].parameters["properties"]
    assert [properties[name]["type"] for name in ("base", "height", "unit")] == ["integer", "number", "string"]


def test_bfcl_nested_values_are_lists_of_right_ones_again(tmp_path: Path) -> None:
    right = [{"math.area": {"base": [{"in": ["m", "cm"], "at": ["", 1]}], "height": [[{"v": [5]}]]}}]
    (tmp_path / "answers.json").write_text(json.dumps(RIGHT | {"ground_truth": right}) + "\n")
    example = only("bfcl", tmp_path, BFCL, answers=tmp_path / "answers.json")
    assert example.steps[0].calls[0].arguments == {"base": {"in": "m"}, "height": [{"v": 5}]}


def test_bfcl_irrelevance_has_no_answers_and_needs_none(tmp_path: Path) -> None:
    path = tmp_path / "BFCL_v4_irrelevance.json"
    path.write_text(json.dumps(BFCL) + "\n")
    (example,) = load(path, FORMATS["bfcl"]).examples
    assert example.abstains
    path.rename(tmp_path / "BFCL_v4_simple.json")
    with pytest.raises(UnreadableData, match="pass the file of possible answers with --answers"):
        load(tmp_path / "BFCL_v4_simple.json", FORMATS["bfcl"])


@pytest.mark.parametrize("name", ROWS)
def test_lines_an_array_and_parquet_say_the_same(name: str, tmp_path: Path) -> None:
    row = ROWS[name]
    lines = only(name, tmp_path, row)
    (tmp_path / "rows.json").write_text(json.dumps([row], indent=2))
    table = {
        key: json.dumps(value) if key == "tools" and isinstance(value, list) else value for key, value in row.items()
    }
    if name == "openai":
        table["messages"] = [{**message, "content": text_of(message)} for message in row["messages"]]
    pq.write_table(pa.Table.from_pylist([table]), tmp_path / "rows.parquet")
    assert load(tmp_path / "rows.json", FORMATS[name]).examples == [lines]
    assert load(tmp_path / "rows.parquet", FORMATS[name]).examples == [lines]
    (tmp_path / "rows.json").write_text(json.dumps([row, 1]))
    with pytest.raises(ImportRefused, match="item 2: not a JSON object"):
        load(tmp_path / "rows.json", FORMATS[name])


def text_of(message: dict[str, Any]) -> str | None:
    """Return a message's content as one text, because a Parquet column has one type."""
    content = message["content"]
    return content[0]["text"] if isinstance(content, list) else content


BAD = {
    "when2call": [
        ({}, "messages: Field required"),
        (SFT | {"messages": []}, "no assistant message"),
        (SFT | {"tools": "["}, "tools: not valid JSON"),
        (SFT | {"tools": [{"description": "nameless"}]}, "a tool must have a name"),
        (QUESTION | {"correct_answer": "maybe"}, "correct_answer: Input should be"),
        (QUESTION | {"question": " "}, "a user message is empty"),
    ],
    "xlam-irrelevance": [
        (IRRELEVANT | {"query": None}, "query: Input should be a valid string"),
        (IRRELEVANT | {"tools": '{"a": 1}'}, "tools: not a list"),
        (IRRELEVANT | {"tools": '[{"name": "f", "parameters": [1]}]'}, "the parameters of f are not an object"),
    ],
    "openai": [
        ({"messages": CHAT["messages"], "tools": []}, "which is not one of its tools"),
        ({"messages": CHAT["messages"][3:], "tools": [WEATHER]}, "a tool message has no call before it"),
        ({"messages": CHAT["messages"][5:], "tools": [WEATHER]}, "an assistant message comes before the first user"),
        ({"messages": [{"role": "cook", "content": ""}]}, "messages.0.role"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages.0.content"),
    ],
}


@pytest.mark.parametrize(("name", "row", "why"), [(name, *case) for name, cases in BAD.items() for case in cases])
def test_a_bad_row_is_named_with_its_line_and_reason(name: str, row: Any, why: str, tmp_path: Path) -> None:
    with pytest.raises(ImportRefused) as caught:
        imported(name, tmp_path, ROWS[name], row, ROWS[name])
    (line,) = caught.value.lines
    assert line.line == 2 and why in line.reason and f"rows.jsonl, line 2: {line.reason}" in str(caught.value)


def test_nothing_is_imported_of_a_file_with_a_bad_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(SFT) + "\nnot json\n" + "[]\n" * 30)
    with pytest.raises(ImportRefused, match="nothing was imported; invalid rows: 31") as caught:
        make(path, tmp_path / "out", FORMATS["when2call"])
    assert not (tmp_path / "out").exists() and len(str(caught.value).splitlines()) < 31


@pytest.mark.parametrize(
    "content",
    [b"", b"\n\n", b"[", b"[1, 2]", b"PAR1", b"PAR1PAR1", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000, b"NaN",
     b'{"query": "\\ud800", "tools": "[]"}', b'{"query": "x", "tools": ' + b"9" * 5_000 + b"}"],
)  # fmt: skip
@pytest.mark.parametrize("name", FORMATS)
def test_garbage_is_refused_in_one_way(name: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "irrelevance"
    path.write_bytes(content)
    with pytest.raises(UnreadableData, match="irrelevance"):
        load(path, FORMATS[name])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = sorted({key for row in (*ROWS.values(), QUESTION, PREFERENCE, BFCL) for key in row})


@st.composite
def mangled(draw: st.DrawFn) -> bytes:
    """Draw a row of one of the formats with some of its values replaced, or bytes."""
    row = draw(st.sampled_from([*ROWS.values(), QUESTION, PREFERENCE, BFCL, {}]))
    row = row | draw(st.dictionaries(st.sampled_from(KEYS), json_values, max_size=3))
    return draw(st.one_of(st.just(json.dumps(row).encode()), st.binary(max_size=30)))


@given(st.sampled_from(sorted(FORMATS)), st.lists(mangled(), max_size=3))
@settings(max_examples=60, deadline=None)
def test_importing_raises_nothing_else(tmp_path_factory: pytest.TempPathFactory, name: str, lines: list[bytes]) -> None:
    path = tmp_path_factory.getbasetemp() / "irrelevance-any.jsonl"
    path.write_bytes(b"\n".join(lines))
    try:
        found = load(path, FORMATS[name])
    except UnreadableData:
        return
    for example in found.examples:
        if example.certified:
            assert oracle(example).reward.total == 1.0  # type: ignore[union-attr]


@given(json_values, json_values)
def test_the_form_of_any_call_can_be_judged_by_any_schema_that_came_in(given_schema: Any, arguments: Any) -> None:
    parameters = given_schema if isinstance(given_schema, dict) else {"x": given_schema}
    made = arguments if isinstance(arguments, dict) else {"x": arguments}
    assert form_level(ToolCall("f", made), {"f": parameters_of(parameters)}) in (1, 2)


def test_a_foreign_tool_is_offered_judged_by_its_form_and_not_run(tmp_path: Path) -> None:
    example = only("xlam-irrelevance", tmp_path, IRRELEVANT)
    attempt = Attempt(example)
    assert [tool["function"]["name"] for tool in attempt.tools] == ["find"]
    said = attempt.answer(write_calls([ToolCall("find", {"ids": [1]}), ToolCall("find", {}), ToolCall("lose", {})]))
    assert [json.loads(message.content)["error"] for message in said] == ["not_live", "not_live", "unknown_tool"]
    attempt.answer("Sorry.")
    rollout = attempt.finish()
    assert [call.level for call in rollout.calls] == [2, 1, 0]
    assert rollout.valid and rollout.failed_at is None and rollout.reward and rollout.reward.total == 0.0
    assert oracle(example).reward.total == 1.0  # type: ignore[union-attr]


def test_a_conversation_with_calls_is_displayed_and_trained_on_but_has_no_rollouts(tmp_path: Path) -> None:
    example = only("openai", tmp_path, CHAT)
    assert Prompt(example).tools[0]["function"]["name"] == "weather"
    with pytest.raises(NotCertified, match="Use it for supervised fine-tuning"):
        Attempt(example)


def test_an_import_is_a_data_set_that_holds(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(SFT) + "\n" + json.dumps(QUESTION) + "\n")
    manifest = make(path, tmp_path / "out", FORMATS["when2call"])
    assert manifest.splits["train"].sources == {"when2call": 1} and manifest.settings["rows"] == 2
    assert verify(tmp_path / "out").holds
    with pytest.raises(dataset_folder.DatasetExistsError):
        make(path, tmp_path / "out", FORMATS["when2call"])


def test_of_two_tools_of_one_name_the_first_is_used(tmp_path: Path) -> None:
    twice = [{"name": "f", "description": "one"}, {"name": "g"}, {"name": "f", "description": "two"}]
    example = only("when2call", tmp_path, SFT | {"tools": twice})
    empty = {"properties": {}, "type": "object", "required": []}
    assert example.tools == (ForeignTool("f", "one", empty), ForeignTool("g", "", empty))


def test_an_answer_that_reads_as_a_call_is_left_out(tmp_path: Path) -> None:
    sly = SFT | {"messages": [SFT["messages"][0], {"role": "assistant", "content": "<tool_call>{}</tool_call>"}]}
    assert imported("when2call", tmp_path, SFT, sly).left_out == {"the assistant's words would be read as a call": 1}
