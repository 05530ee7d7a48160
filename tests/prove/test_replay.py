"""Replay of a full data set: drift is grouped by cause, and every unreadable line has its reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from training_worker.core.trajectory import Example, Failure, Step, ToolCall, UnreadableData, dumps
from training_worker.datasets import dataset_folder, replay
from training_worker.datasets.replay import Cause, drift_of, verify


def rewritten(example: Example, place: int, **changes: object) -> Example:
    steps = tuple(replace(step, **changes) if at == place else step for at, step in enumerate(example.steps))
    return replace(example, steps=steps)


def invented(example: Example) -> Example:
    """Return the example with turns that name no value, so that nobody has said its values."""
    return replace(example, turns=tuple("Please do as I would like." for _ in example.turns))


SPOILT: dict[Cause, Callable[[Example], Example]] = {
    "record": lambda example: replace(example, digests=example.digests[:-1]),
    "server": lambda example: replace(example, world=replace(example.world, servers=("steam_engine",))),
    "tool": lambda example: replace(example, candidates=(*example.candidates, "shovel_coal")),
    "world": lambda example: replace(example, world=replace(example.world, seed=example.world.seed + 1_000)),
    "answer": lambda example: rewritten(example, 1, observations=('{"id": "X-1"}',)),
    "state": lambda example: replace(example, digests=(*example.digests[:-1], "0" * 32)),
    "provenance": invented,
    "oracle": lambda example: replace(example, candidates=tuple(example.candidates[:0])),
    "code": lambda example: replace(example, fingerprint="0" * 16),
}


@pytest.mark.parametrize("cause", SPOILT)
def test_each_cause_of_drift_is_distinguished(cause: Cause, chains: list[Example]) -> None:
    example = chains[0]
    assert drift_of(example) is None
    drift = drift_of(SPOILT[cause](example))
    assert drift and drift.cause == cause and drift.example == example.id and drift.reason


def test_a_conversation_of_another_kind_than_its_steps_makes_no_sense(chains: list[Example]) -> None:
    drift = drift_of(replace(chains[0], kind="irrelevance"))
    assert drift and drift.cause == "record"


def test_the_diff_of_a_changed_reply_has_the_changed_values(chains: list[Example]) -> None:
    example = next(one for one in chains if one.steps[0].observations[0].startswith("{"))
    reply = json.loads(example.steps[0].observations[0])
    key = next(key for key, value in reply.items() if isinstance(value, str))
    then = json.dumps(reply | {key: "as it was"})
    drift = drift_of(rewritten(example, 0, observations=(then,)))
    assert drift and next(line for line in drift.diff if "as it was" in line).startswith("-")
    assert all(len(line) <= replay.DIFF_WIDTH for line in drift.diff)
    long = replay.difference(json.dumps(list(range(100))), json.dumps(list(range(100, 200))))
    assert len(long) == replay.DIFF_LINES + 1 and "more lines" in long[-1]


def test_a_failure_on_the_way_has_to_fail_as_it_did(chains: list[Example]) -> None:
    example = chains[0]
    failed = Failure(1, 0, ToolCall(example.candidates[0], {"no such": 1}), "It failed in other words.", "gave_up")
    drift = drift_of(replace(example, failures=(failed,)))
    assert drift and drift.cause == "answer" and "-It failed in other words." in drift.diff


def test_a_data_set_is_grouped_by_cause_with_the_first_ids(data_set: Path, examples: tuple[Example, ...]) -> None:
    gone = [SPOILT["server"](example) for example in examples[:7]]
    lines = [dumps(example) for example in (*gone, *examples[7:40])]
    (data_set / "train.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    found = verify(data_set)
    assert not found.holds and found.changed == ["train.jsonl"]
    assert set(found.groups) == {"server"} and found.drifted == 7 and found.held == 41
    assert found.groups["server"].examples == [example.id for example in examples[: replay.FIRST_IDS]]


def test_every_bad_line_is_named_and_the_others_are_replayed(data_set: Path) -> None:
    path = data_set / "train.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2], lines[5] = b"{}\n", b"\xff\n"
    path.write_bytes(b"".join(lines)[:-200])
    found = verify(data_set)
    assert [line.line for line in found.bad_lines] == [3, 6, 40] and found.held == 45 and not found.holds
    assert all(str(path) in str(line) and line.reason for line in found.bad_lines)


def test_of_many_bad_lines_the_first_are_named_and_all_counted(data_set: Path) -> None:
    (data_set / "train.jsonl").write_text("no\n" * 500)
    found = verify(data_set)
    assert found.bad == 500 and len(found.bad_lines) == replay.MOST_BAD_LINES


def test_a_file_that_is_gone_does_not_hold(data_set: Path) -> None:
    (data_set / "held_out.jsonl").unlink()
    found = verify(data_set)
    assert not found.holds and found.changed == ["held_out.jsonl"] and found.held == 40


def test_an_imported_conversation_with_calls_is_neither_held_nor_drifted(chains: list[Example], data_set: Path) -> None:
    imported = replace(chains[0], source="openai", steps=(Step((ToolCall("f", {}),)),))
    path = data_set / "train.jsonl"
    path.write_text(path.read_text("utf-8") + dumps(imported) + "\n", "utf-8")
    found = verify(data_set)
    assert found.not_certified == 1 and found.held == 48 and not found.drifted


def test_what_was_changed_by_hand_is_not_read(data_set: Path) -> None:
    assert len(list(dataset_folder.examples(data_set, "train"))) == 40
    with (data_set / "train.jsonl").open("a") as file:
        file.write("\n")
    with pytest.raises(UnreadableData, match=r"train\.jsonl is not the file that the manifest describes"):
        next(dataset_folder.examples(data_set, "train"))
    assert len(list(dataset_folder.examples(data_set, "held_out"))) == 8
