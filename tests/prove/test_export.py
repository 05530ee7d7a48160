"""A data set as others use it: nothing is lost in Parquet, and the card says what the manifest does."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from tests.prove.test_trajectory import built_examples, some
from training_worker.chat.messages import chat_messages
from training_worker.chat.schemas import get_tool_schemas
from training_worker.core.trajectory import Example, UnreadableData, dumps, read_lines, write_lines
from training_worker.datasets import dataset_folder
from training_worker.datasets.export.parquet import BATCH, read_parquet, write_parquet
from training_worker.datasets.export.publish import publish
from training_worker.datasets.importers import formats


@given(some(built_examples))
@settings(max_examples=15, deadline=None)
def test_lines_to_parquet_to_lines_are_the_same_bytes(tmp_path_factory, examples: tuple[Example, ...]) -> None:
    foreign = [replace(example, source="openai") for example in examples]  # whose tools are drawn, not the servers'
    at = tmp_path_factory.mktemp("parquet")
    write_lines(at / "a.jsonl", foreign)
    write_parquet(at / "a.parquet", read_lines(Example, at / "a.jsonl"))
    write_lines(at / "b.jsonl", read_parquet(at / "a.parquet"))
    assert (at / "a.jsonl").read_bytes() == (at / "b.jsonl").read_bytes()


def test_many_batches_are_one_file(examples: tuple[Example, ...], tmp_path: Path) -> None:
    many = list(islice(cycle(examples), BATCH + 3))
    write_parquet(tmp_path / "many.parquet", many)
    assert pq.ParquetFile(tmp_path / "many.parquet").num_row_groups == 2
    assert list(read_parquet(tmp_path / "many.parquet")) == many


@pytest.mark.long
def test_publishing_again_gives_the_same_bytes(data_set: Path) -> None:
    def everything() -> dict[str, bytes]:
        return {str(path.relative_to(data_set)): path.read_bytes() for path in data_set.rglob("*") if path.is_file()}

    publish(data_set)
    first = everything()
    publish(data_set)
    assert everything() == first
    assert {"train.parquet", "held_out.parquet", "README.md", "plots/tools.png", "plots/drops.png"} <= set(first)
    assert not [name for name in first if name.endswith(".partial")]
    assert not [name for name, content in first.items() if name.endswith(".png") and b"tIME" in content]


@pytest.mark.long
def test_the_card_says_what_the_manifest_does(data_set: Path) -> None:
    publish(data_set)
    text, known = (data_set / "README.md").read_text("utf-8"), dataset_folder.read(data_set)
    assert text.startswith("---\n") and "path: train.parquet" in text and "license: apache-2.0" in text
    for split in known.splits.values():
        for kind, count in split.kinds.items():
            assert f"| kinds: {kind} | " in text and f" {count:,} " in text
    for value in (known.content, known.servers, known.schemas, known.code):
        assert value in text
    for plot in (data_set / "plots").iterdir():
        assert f"(plots/{plot.name})" in text


def test_messages_and_tools_give_the_conversation_again(examples: tuple[Example, ...], tmp_path: Path) -> None:
    """What is exported is imported as the same turns, calls, replies and closing words."""
    examples = tuple(example for example in examples if not example.arrivals)  # whose tools stand in a message
    rows = [{"messages": chat_messages(example), "tools": get_tool_schemas(example)} for example in examples]
    (tmp_path / "chats.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    found = formats.load(tmp_path / "chats.jsonl", formats.FORMATS["openai"]).examples

    def said(example: Example) -> str:
        return dumps(replace(examples[0], turns=example.turns, steps=example.steps, answers=example.answers))

    assert {said(example) for example in found} == {said(example) for example in examples}


def test_what_is_no_parquet_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(UnreadableData, match=r"x\.parquet is not a dataset's Parquet file"):
        list(read_parquet(tmp_path / "x.parquet"))


def test_a_data_set_that_was_changed_is_not_exported(data_set: Path) -> None:
    (data_set / "train.jsonl").write_text("{}\n")
    with pytest.raises(UnreadableData, match="its hash differs"):
        publish(data_set)
    assert not (data_set / "train.parquet").exists()
