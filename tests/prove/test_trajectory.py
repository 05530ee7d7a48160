"""Trajectories travel as JSON lines: equal values give equal bytes, and a broken file is named with its fault."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_worker.core.trajectory import (
    Evidence,
    Example,
    ExecutedCall,
    Failure,
    ForeignTool,
    Message,
    Reward,
    Rollout,
    Step,
    ToolCall,
    UnreadableData,
    WorldRef,
    dumps,
    loads,
    read_lines,
    write_lines,
)
from training_worker.environment.episode import oracle

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
numbers = st.integers(0, 99)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)
calls = st.builds(ToolCall, words, st.none() | st.dictionaries(words, json_values, max_size=2))


def some(values: st.SearchStrategy) -> st.SearchStrategy:  # type: ignore[type-arg]
    return st.lists(values, max_size=2).map(tuple)


steps = st.builds(Step, some(calls), numbers, some(words))
worlds = st.builds(WorldRef, numbers, some(words), words)
built_examples = st.builds(
    Example, id=words, kind=st.sampled_from(["chain", "missing_function", "irrelevance"]),
    split=st.sampled_from(["train", "held_out"]), world=worlds, turns=some(words), steps=some(steps),
    edges=some(st.tuples(numbers, numbers)), candidates=some(words), answers=some(words), digests=some(words),
    fingerprint=words, enums_stripped=st.booleans(), distractors=numbers, persona=words, today=words,
    source=words, system=words, level=st.sampled_from(["complete", "missing", "minimal"]),
    failures=some(st.builds(Failure, numbers, numbers, calls, words, st.sampled_from(["corrected", "gave_up"]))),
    tools=some(st.builds(ForeignTool, words, words, st.dictionaries(words, json_values, max_size=2))),
)  # fmt: skip
shares = st.floats(0, 1)
evidence = st.builds(Evidence, numbers, numbers, st.booleans(), st.none() | numbers, st.none() | st.booleans(), st.none() | shares, some(words))  # fmt: skip # noqa: E501
rewards = st.builds(Reward, total=shares, validity=shares, evidence=some(evidence), missed_steps=some(numbers))
built_rollouts = st.builds(
    Rollout, example=words, transcript=some(st.builds(Message, st.sampled_from(["user", "assistant", "tool"]), words)),
    calls=some(st.builds(ExecutedCall, calls, st.integers(0, 3), words, numbers)),
    end=st.sampled_from(["answered", "assistant_turns", "calls", "tokens", "infrastructure"]),
    reward=st.none() | rewards, failed_at=st.sampled_from([None, "policy", "environment", "infrastructure"]),
    error=words, digest=words,
)  # fmt: skip


@given(built_examples | built_rollouts)
def test_a_value_survives_its_json_and_equal_values_give_equal_bytes(value: Example | Rollout) -> None:
    line = dumps(value)
    again = loads(type(value), line)
    assert again == value and dumps(again) == line and "\n" not in line


def test_made_examples_and_rollouts_survive_their_json(examples: tuple[Example, ...]) -> None:
    for example in examples[:40]:
        assert loads(Example, dumps(example)) == example
        rollout = oracle(example)
        assert loads(Rollout, dumps(rollout)) == rollout


def test_lines_written_are_the_lines_read(examples: tuple[Example, ...], tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    write_lines(path, examples)
    assert tuple(read_lines(Example, path)) == examples
    write_lines(path, examples[:1])
    assert tuple(read_lines(Example, path)) == examples[:1]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("broken", [b"", b"{", b"{}", b"null", b"\xff\xfe", b'{"role": "cook", "content": "x"}'])
def test_a_torn_line_is_named_with_its_file_and_number(broken: bytes, tmp_path: Path) -> None:
    path = tmp_path / "messages.jsonl"
    good = dumps(Message("user", "Hello")).encode()
    path.write_bytes(good + b"\n" + good + b"\n" + broken + b"\n" + good + b"\n")
    lines = read_lines(Message, path)
    assert [next(lines), next(lines)] == [Message("user", "Hello")] * 2
    with pytest.raises(UnreadableData) as caught:
        next(lines)
    assert str(path) in str(caught.value) and "line 3" in str(caught.value) and "again" in str(caught.value)


def test_a_file_cut_in_the_middle_of_a_line_is_named(examples: tuple[Example, ...], tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    write_lines(path, examples[:5])
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(UnreadableData, match="line 5"):
        list(read_lines(Example, path))


def test_what_raises_half_way_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    def two_then_trouble() -> Iterator[Message]:
        yield from [Message("user", "new")] * 2
        raise RuntimeError("no more")

    path = tmp_path / "messages.jsonl"
    write_lines(path, [Message("user", "old")])
    with pytest.raises(RuntimeError, match="no more"):
        write_lines(path, two_then_trouble())
    assert list(tmp_path.iterdir()) == [path]
    assert list(read_lines(Message, path)) == [Message("user", "old")]


@pytest.mark.parametrize(
    ("failed_at", "valid"), [(None, True), ("policy", True), ("environment", False), ("infrastructure", False)]
)
def test_only_a_failure_of_the_policy_counts(failed_at: str | None, valid: bool) -> None:
    line = dumps(Rollout(example="x", transcript=(), calls=(), end="answered", reward=None))
    rollout = loads(
        Rollout, line.replace('"failed_at":null', f'"failed_at":"{failed_at}"' if failed_at else '"failed_at":null')
    )
    assert rollout.failed_at == failed_at and rollout.valid is valid


def test_every_key_of_an_example_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs/data-sets.md").read_text("utf-8")
    table = page.split("The keys of a line of `train.jsonl`")[1].split("The dataset is usable")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == {one.name for one in fields(Example)}


def test_trainers_of_others_find_the_keys_that_were_always_there() -> None:
    example = Example(
        id="train-0",
        kind="chain",
        split="train",
        world=WorldRef(0, ("banking",)),
        turns=("Show my accounts.",),
        steps=(Step((ToolCall("list_accounts", {"limit": 3}),), 0, ("[]",)),),
        edges=(),
        candidates=("list_accounts",),
        answers=("There are none.",),
        digests=("", ""),
        fingerprint="",
    )
    line = json.loads(dumps(example))
    assert {"kind", "turns", "steps", "edges", "candidates", "answers"} <= set(line)
    assert line["steps"][0]["turn"] == 0
    assert line["steps"][0]["calls"] == [{"name": "list_accounts", "arguments": {"limit": 3}}]
    assert not {"fed", "enabled", "acts", "features", "alternatives", "check"} & set(line), "empty ones are left out"
