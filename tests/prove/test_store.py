"""The store of rollouts: what goes in comes out, one at a time, and an incomplete file is refused by name."""

from __future__ import annotations

import json
from dataclasses import replace
from math import isclose
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from training_worker.core.trajectory import (
    Evidence,
    ExecutedCall,
    Message,
    Reward,
    Rollout,
    ToolCall,
    UnreadableData,
    write_lines,
)
from training_worker.reward.advantage import advantages, component_advantages
from training_worker.store.folder import RolloutFolder, read_one, read_rollouts, step_name, tokens_name
from training_worker.store.parquet import DamagedFile
from training_worker.store.record import RolloutRecord, Tokens, summarise
from training_worker.store.steps import ROWS, read_rollout, read_step, read_summaries, write_step
from training_worker.store.tokens import read_tokens, write_tokens

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.floats(-2, 2)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | NUMBERS | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)
CALLS = st.builds(
    ExecutedCall,
    st.builds(ToolCall, WORDS, st.none() | st.dictionaries(WORDS, VALUES, max_size=2)),
    level=st.integers(0, 3),
    observation=WORDS,
    turn=st.integers(0, 9),
)
REWARDS = st.builds(
    Reward,
    total=NUMBERS,
    validity=NUMBERS,
    coverage=NUMBERS,
    abstention=st.booleans(),
    evidence=st.lists(st.builds(Evidence, st.integers(0, 5), st.integers(0, 3), st.booleans()), max_size=2).map(tuple),
    missed_steps=st.lists(st.integers(0, 4), max_size=2).map(tuple),
)
ROLLOUTS = st.builds(
    Rollout,
    example=WORDS,
    transcript=st.lists(st.builds(Message, st.sampled_from(["user", "assistant", "tool"]), WORDS), max_size=3).map(
        tuple
    ),
    calls=st.lists(CALLS, max_size=3).map(tuple),
    end=st.sampled_from(["answered", "calls", "tokens"]),
    reward=st.none() | REWARDS,
    failed_at=st.none() | st.sampled_from(["policy", "environment"]),
    error=WORDS,
    digest=WORDS,
)


@st.composite
def records(draw: st.DrawFn, rollout: Rollout, group: int = 1) -> RolloutRecord:
    said = draw(st.lists(st.tuples(st.integers(0, 99), st.booleans(), st.floats(-9, 0, width=32)), max_size=4))
    tokens = Tokens(
        prompt_ids=draw(st.lists(st.integers(0, 99), max_size=3)),
        completion_ids=[token for token, _, _ in said],
        env_mask=[int(model) for _, model, _ in said],
        logprobs=[logprob if model else 0.0 for _, model, logprob in said],
    )
    return RolloutRecord(rollout=rollout, group=group, advantage=draw(st.none() | NUMBERS), tokens=tokens)


STEPS = st.lists(ROLLOUTS, min_size=1, max_size=6).flatmap(
    lambda rollouts: st.tuples(*(records(one, place // 2 + 1) for place, one in enumerate(rollouts)))
)
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def plain(text: str, group: int = 1, total: float = 0.5) -> RolloutRecord:
    rollout = Rollout(
        example=f"one-{group}",
        transcript=(Message("user", text),),
        calls=(ExecutedCall(ToolCall("look", {"at": text}), 3, text),),
        end="answered",
        reward=Reward(total=total, validity=1.0),
    )
    tokens = Tokens(prompt_ids=[1, 2], completion_ids=[3, 4, 5], env_mask=[1, 0, 1], logprobs=[-0.5, 0.0, -2.0])
    return RolloutRecord(rollout=rollout, group=group, advantage=0.25, tokens=tokens)


def piece(token: int) -> str:
    return f"<{token}>"


@pytest.fixture
def folder(tmp_path: Path) -> RolloutFolder:
    return RolloutFolder(tmp_path)


@quick
@given(step=STEPS)
def test_a_stored_step_is_read_again_completely_and_one_by_one(step: tuple[RolloutRecord, ...], tmp_path: Path) -> None:
    path = tmp_path / step_name(1)
    digest = write_step(path, step)
    rollouts = [one.rollout for one in step]
    assert list(read_step(path)) == rollouts
    assert [read_rollout(path, index) for index in range(len(step) + 2)] == [None, *rollouts, None]
    assert list(read_step(path, transcripts=False)) == [replace(one, transcript=()) for one in rollouts]
    assert read_summaries(path) == summarise(step)
    assert write_step(path, step) == digest, "equal rollouts give equal bytes"


@quick
@given(step=STEPS)
def test_tokens_are_read_again_with_their_text_and_the_models_marked(
    step: tuple[RolloutRecord, ...], tmp_path: Path
) -> None:
    path = tmp_path / tokens_name(1)
    write_tokens(path, step, piece)
    for index, one in enumerate(step, 1):
        found, tokens = read_tokens(path, index), one.tokens
        assert found is not None
        assert [(token.id, token.text) for token in found.prompt] == [(id, piece(id)) for id in tokens.prompt_ids]
        completion = [(token.id, token.text, int(token.model), token.logprob) for token in found.completion]
        lists = zip(tokens.completion_ids, tokens.env_mask, tokens.logprobs, strict=True)
        assert completion == [(id, piece(id), model, logprob if model else None) for id, model, logprob in lists]
    assert read_tokens(path, len(step) + 1) is None


@settings(max_examples=60, deadline=None)
@given(cut=st.floats(0, 1, exclude_max=True))
def test_a_file_that_was_cut_short_says_so_and_names_itself(
    tmp_path_factory: pytest.TempPathFactory, cut: float
) -> None:
    path = tmp_path_factory.mktemp("cut") / step_name(7)
    write_step(path, [plain(str(i)) for i in range(3)])
    data = path.read_bytes()
    path.write_bytes(data[: int(cut * len(data))])
    for read in (read_summaries, lambda file: read_rollout(file, 1), lambda file: list(read_step(file))):
        with pytest.raises(DamagedFile, match=r"step-000007\.parquet .*damaged or truncated") as error:
            read(path)
        assert str(path.parent) not in str(error.value)


def test_a_byte_that_changed_in_the_text_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / step_name(7)
    write_step(path, [plain(f"{i} {i * 7919}") for i in range(50)])
    data = bytearray(path.read_bytes())
    meta = pq.ParquetFile(path).metadata.row_group(0)
    record = next(meta.column(i) for i in range(meta.num_columns) if meta.column(i).path_in_schema == "record")
    data[record.data_page_offset + record.total_compressed_size // 2] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(DamagedFile):
        list(read_step(path))


def test_one_rollout_is_read_without_the_row_groups_beside_its_own(tmp_path: Path) -> None:
    path = tmp_path / step_name(1)
    write_step(path, [plain(f"text {i}") for i in range(3 * ROWS)])
    file = pq.ParquetFile(path)
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [ROWS] * 3
    second = file.metadata.row_group(1)
    end = min(
        offset
        for column in map(second.column, range(second.num_columns))
        for offset in (column.data_page_offset, column.dictionary_page_offset or column.data_page_offset)
    )
    data = bytearray(path.read_bytes())
    data[8:end] = bytes(end - 8)  # the first row group is gone
    path.write_bytes(data)
    found = read_rollout(path, ROWS + 1)
    assert found is not None and found.transcript[0].content == f"text {ROWS}"
    with pytest.raises(DamagedFile):
        read_rollout(path, 1)


@pytest.mark.parametrize(("keep", "left"), [("none", []), ("last", [3]), ("all", [1, 2, 3])])
def test_tokens_are_stored_for_no_step_for_the_last_or_for_all(
    keep: Any, left: list[int], folder: RolloutFolder
) -> None:
    descriptions = [folder.store(step, [plain("a")], keep, piece) for step in (1, 2, 3)]
    assert sorted(file.name for file in folder.path.glob("tokens-*")) == [tokens_name(step) for step in left]
    assert [bool(one["tokens"]) for one in descriptions] == [keep != "none"] * 3
    assert folder.steps() == [1, 2, 3]


def test_going_back_forgets_later_steps_and_what_was_half_written(folder: RolloutFolder) -> None:
    for step in (1, 2, 3):
        folder.store(step, [plain(str(step))], "all", piece)
    (folder.path / "step-000002.parquet.partial").write_bytes(b"half")
    write_lines(folder.path / "step-000004.jsonl", [plain("old").rollout])
    (folder.path / "brought.jsonl").write_text("\n")
    folder.rewind(1)
    left = {"step-000001.parquet", "tokens-000001.parquet", "brought.jsonl"}
    assert {file.name for file in folder.path.iterdir()} == left


def test_the_description_of_a_step_is_small_and_complete_and_the_same_when_made_again(folder: RolloutFolder) -> None:
    step = [plain("a" * 5_000, total=0.25), plain("b", total=0.75), plain("c", group=2)]
    info = folder.store(4, step, "last", piece)
    assert json.loads(json.dumps(info)) == info == folder.describe(4)
    assert (info["step"], info["file"], info["bytes"]) == (4, step_name(4), (folder.path / step_name(4)).stat().st_size)
    first, second = info["groups"]
    assert (first["number"], first["first"], first["example"]) == (1, 1, "one-1")
    assert (second["number"], second["first"], second["reward"]) == (2, 3, [0.5])
    assert first["reward"] == [0.25, 0.75] and first["tools"] == [["look"], ["look"]]
    assert len(json.dumps(info)) < 2_000, "no text of a rollout is in it"


def test_rollouts_of_old_runs_and_new_ones_are_read_alike(folder: RolloutFolder) -> None:
    write_lines(folder.path / "step-000001.jsonl", [plain("one").rollout, plain("two").rollout])
    folder.store(2, [plain("three"), plain("four")])
    texts = [one.transcript[0].content for one in read_rollouts(folder, folder.steps(), transcripts=True)]
    assert texts == ["one", "two", "three", "four"]
    assert [read_one(folder, step, 2).transcript[0].content for step in (1, 2)] == ["two", "four"]  # type: ignore[union-attr]
    assert read_one(folder, 1, 3) is read_one(folder, 2, 3) is None
    with pytest.raises(FileNotFoundError, match="no rollout file of step 9"):
        list(read_rollouts(folder, [9]))
    (folder.path / "step-000001.jsonl").write_text('{"example": ')
    with pytest.raises(UnreadableData, match="line 1"):
        list(read_rollouts(folder, [1]))


def test_a_disk_that_takes_nothing_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / step_name(1)
    write_step(path, [plain("before")])
    (tmp_path / f"{path.name}.partial").mkdir()  # a folder cannot be overwritten
    with pytest.raises(OSError):
        write_step(path, [plain("after")])
    assert [one.transcript[0].content for one in read_step(path)] == ["before"]


REWARD = st.none() | st.floats(0, 1.3)


@given(rewards=st.lists(REWARD, min_size=1, max_size=24), size=st.integers(1, 6))
@pytest.mark.parametrize("scale", ["group", "batch", "none"])
def test_advantages_of_a_group_add_up_to_nothing_unless_it_is_void(
    scale: Any, rewards: list[float | None], size: int
) -> None:
    found = advantages(rewards, size, scale)
    assert len(found) == len(rewards)
    for start in range(0, len(rewards), size):
        group, earned = rewards[start : start + size], found[start : start + size]
        if None in group:
            assert earned == [None] * len(group)
        else:
            assert isclose(sum(one or 0.0 for one in earned), 0, abs_tol=1e-6)
            assert sorted(range(len(group)), key=lambda i: group[i] or 0) == sorted(
                range(len(group)), key=lambda i: (earned[i] or 0, group[i] or 0)
            )


def test_advantages_are_divided_by_the_deviation_of_a_sample() -> None:
    assert advantages([0.0, 1.0], 2, "none") == [-0.5, 0.5]
    divisor = 0.5**0.5 + 1e-4
    assert advantages([0.0, 1.0, None, 1.0], 2, "batch") == pytest.approx([-0.5 / divisor, 0.5 / divisor, None, None])
    assert advantages([0.0, 1.0, 3.0, 3.0], 2, "group") == pytest.approx([-0.5 / divisor, 0.5 / divisor, 0, 0])


PARTS = st.fixed_dictionaries({"validity": st.integers(0, 9), "name": st.integers(0, 9)})


@given(parts=st.lists(PARTS, min_size=4, max_size=16), factor=st.sampled_from([0.1, 10.0]))
def test_components_that_are_normalised_one_by_one_count_by_their_weight_and_not_by_their_size(
    parts: list[dict[str, int]], factor: float
) -> None:
    weights = {"validity": 0.5, "name": 0.2}
    parts = parts[: len(parts) // 4 * 4]
    found = component_advantages(parts, weights, 4)
    larger = [{**one, "name": factor * one["name"]} for one in parts]
    assert [one or 0.0 for one in component_advantages(larger, weights, 4)] == pytest.approx(found, abs=0.02)
    assert isclose(sum(one or 0.0 for one in found), 0, abs_tol=1e-6)


def test_a_group_with_a_rollout_without_components_is_void_and_tells_nothing_of_others() -> None:
    parts = [{"name": 1.0}, {"name": 0.0}, None, {"name": 1.0}]
    found = component_advantages(parts, {"name": 1.0}, 2)
    assert found[2:] == [None, None] and found[:2] == component_advantages(parts[:2], {"name": 1.0}, 2)
    assert found[0] == pytest.approx(0.7071, abs=1e-3)
