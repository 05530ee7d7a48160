"""Contamination: a run of words that training shares with a benchmark is found in full and printed by the command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from hypothesis import given
from hypothesis import strategies as st

from training_worker.core.trajectory import Example
from training_worker.datasets import dataset_folder
from training_worker.evaluation.contamination import LONG, OURS, Hit, Screen, check, grams, words_of
from training_worker.evaluation.registry import KNOWN, BenchmarkSpec
from training_worker.jobs import dataset_import
from training_worker.jobs.job_context import EventLog
from training_worker.jobs.spool import SpoolWriter, spool_path
from training_worker.training.stop_signal import Stop

SAID = "Please move the quarterly report from the drafts folder into the archive and rename it"
TEXTS = {"theirs": [("task-1", SAID), ("task-2", "Book me a seat on the first flight to Oslo tomorrow.")]}


def with_turns(example: Example, *turns: str) -> Example:
    return replace(example, turns=turns)


def test_a_run_of_n_words_is_found_in_full_and_a_shorter_one_is_not(abstention: Example) -> None:
    words = SAID.split()
    for length in range(1, len(words) + 1):
        turn = f"Well then: {' '.join(words[:length])} xyzzy"
        found = check([with_turns(abstention, turn)], TEXTS, {})
        expected = [Hit(abstention.id, "theirs", "task-1", " ".join(words[:length]).casefold())]
        assert found.hits == (expected if length >= LONG else [])
        assert (found.conversations, found.turns, found.texts) == (1, 1, {"theirs": 2})


def test_case_and_punctuation_do_not_hide_a_run_and_turns_are_apart(abstention: Example) -> None:
    shouted = "BOOK me -- a seat, on the FIRST flight (to Oslo)!"
    assert [hit.item for hit in check([with_turns(abstention, "Hello.", shouted)], TEXTS, {}).hits] == ["task-2"]
    assert not check(
        [with_turns(abstention, "Book me a seat on", "the first flight to Oslo tomorrow.")], TEXTS, {}
    ).hits


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12), st.integers(2, 5))
def test_it_finds_what_a_comparison_of_all_places_finds(
    abstention: Example, a: list[str], b: list[str], n: int
) -> None:
    found = check([with_turns(abstention, " ".join(a))], {"theirs": [("task", " ".join(b))]}, {}, n)
    shared = set(grams(a, n)) & set(grams(b, n))
    assert bool(found.hits) == bool(shared)
    assert all(len(words_of(hit.words)) >= n and tuple(words_of(hit.words)[:n]) in shared for hit in found.hits)


class Theirs:
    name, version, categories = "theirs", "1", ("all",)

    def iter_user_texts(self) -> Iterator[tuple[str, str]]:
        return iter(TEXTS["theirs"])


@contextmanager
def open_theirs(root: Path, options: Any) -> Iterator[Any]:
    yield Theirs()


def test_the_command_shows_every_pair_and_fails_where_there_is_one(
    data_set: Path, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.PROVE_DATA = tmp_path
    with pytest.raises(CommandError, match="No benchmark is installed"):
        call_command("contamination", data_set)
    theirs = BenchmarkSpec(name="theirs", title="Theirs", about="", categories=("all",), opens=open_theirs)
    monkeypatch.setitem(KNOWN, "theirs", theirs)
    call_command("contamination", data_set)
    output = capsys.readouterr().out
    assert "0 pairs share 8 words" in output and "2 of theirs" in output and "bfcl was skipped: bfcl is not" in output
    text = (data_set / "train.jsonl").read_text("utf-8")
    (tmp_path / "train.jsonl").write_text(text.replace('"turns":["', f'"turns":["{SAID} ', 2), "utf-8")
    with pytest.raises(CommandError, match="shares texts") as failed:
        call_command("contamination", tmp_path)
    assert failed.value.returncode == 1
    output = capsys.readouterr().out
    assert output.count(f"and task-1 of theirs: {SAID.casefold()}") == 2 and "2 pairs share" in output


@pytest.mark.parametrize(
    ("more", "message"),
    [(["--n", "1"], "from 2 to 100"), (["--option", "data=x"], "BENCHMARK.NAME=VALUE")],
)
def test_what_makes_no_sense_is_refused(data_set: Path, more: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        call_command("contamination", data_set, *more)
    with pytest.raises(CommandError, match="is not there"):
        call_command("contamination", data_set / "nothing")


def test_ours_are_left_out_by_names_that_there_are() -> None:
    assert KNOWN.keys() > OURS


class TestImports:
    """Rows of a benchmark that come in under another name are held out, and the report says so."""

    def chat(self, said: str) -> dict[str, Any]:
        replies = [{"role": "user", "content": said}, {"role": "assistant", "content": "No."}]
        return {"messages": replies, "tools": [{"name": "find", "parameters": {"type": "object", "properties": {}}}]}

    @pytest.fixture(autouse=True)
    def theirs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        theirs = BenchmarkSpec(name="theirs", title="Theirs", about="", categories=("all",), opens=open_theirs)
        monkeypatch.setitem(KNOWN, "theirs", theirs)

    def file(self, tmp_path: Path) -> Path:
        rows = [self.chat(f"Hello. {SAID}"), self.chat("Say hi."), self.chat("Sing of Oslo and of its first flights.")]
        path = tmp_path / "upload"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    def test_an_import_keeps_them_out_of_train_and_names_the_benchmark(self, tmp_path: Path) -> None:
        self.file(tmp_path)
        tell = EventLog(SpoolWriter(spool_path(tmp_path, 1)), Stop(), 1)
        given = {"format": "openai", "mapped": {}, "split": "train", "keep_good": True, "file": "a.jsonl"}
        result = dataset_import.work({"import": given}, tmp_path, tell)
        found = result["import"]["contamination"]
        assert found["held_out"] == {"theirs": 1} and found["compared"] == {"theirs": 2}
        assert {"bfcl", "tau2"} <= {*found["not_compared"]}
        assert [one.turns[0] for one in dataset_folder.examples(tmp_path / "out", "held_out")] == [f"Hello. {SAID}"]
        assert len(list(dataset_folder.examples(tmp_path / "out", "train"))) == 2
        manifest = dataset_folder.read(tmp_path / "out")
        assert manifest.settings["contamination"]["held_out"] == {"theirs": 1}
        assert "1 of theirs" in (tmp_path / "out" / "README.md").read_text("utf-8")

    def test_the_command_does_so_too(self, tmp_path: Path, settings: Any, capsys: pytest.CaptureFixture[str]) -> None:
        settings.PROVE_DATA = tmp_path
        call_command("import_data", self.file(tmp_path), format="openai", out=tmp_path / "out")
        assert "1 shares text with theirs" in capsys.readouterr().out
        assert dataset_folder.read(tmp_path / "out").settings["contamination"]["held_out"] == {"theirs": 1}
        assert [one.split for one in dataset_folder.examples(tmp_path / "out", "held_out")] == ["held_out"]

    def test_a_short_text_is_one_of_a_benchmark_where_all_of_it_is_the_same(self, abstention: Example) -> None:
        theirs = replace(abstention, source="openai")
        screen = Screen({"theirs": [("task", "Cancel my flight, please.")]}, {})
        assert screen.screen_example(with_turns(theirs, "cancel my flight please!")).split == "held_out"
        assert screen.screen_example(with_turns(theirs, "cancel my flight please, Bob")).split == "train"
        assert screen.screen_example(with_turns(abstention, "cancel my flight please!")).split == "train", (
            "it was made here"
        )
