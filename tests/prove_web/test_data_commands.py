"""`manage.py synthesize`, `verify`, `paraphrase` and `classify`: what they say, and what they answer to wrong input."""

from __future__ import annotations

import io
import json
import os
import signal
import time
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.prove.serving import MODEL, Serve, Served, rewriting
from training_worker.prove.synthesis import recipes
from training_worker.prove.synthesis.shards import kept_until_done


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, graph_folder: Path, settings: Any, tmp_path: Path) -> None:
    """A recipe of a few conversations, and a data folder with the graph."""
    settings.PROVE_DATA = tmp_path / "data"
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "graph").symlink_to(graph_folder)
    few = recipes.plan("few", "a few", (6, 1, 1), (2, 0, 0))
    monkeypatch.setitem(recipes.PLANS, "few", few)


def said(command: str, *arguments: object, **options: Any) -> str:
    out = io.StringIO()
    call_command(command, *map(str, arguments), stdout=out, **options)
    return out.getvalue()


def test_a_data_set_is_made_and_holds(tmp_path: Path) -> None:
    told = said("synthesize", "few", out=tmp_path / "set", processes=1)
    assert "train: 8 conversations (6 chain, 1 irrelevance, 1 missing_function)" in told
    assert "10 of 10 hold" in said("verify", tmp_path / "set")
    lines = (tmp_path / "set" / "train.jsonl").read_text("utf-8").splitlines()
    (tmp_path / "set" / "train.jsonl").write_text(
        "\n".join([*lines[:-1], lines[-1].replace('"digests":["', '"digests":["x')]) + "\n"
    )
    with pytest.raises(CommandError, match="has drifted"):
        said("verify", tmp_path / "set")


def test_ctrl_c_keeps_what_is_made_and_the_same_command_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "set"

    def interrupt() -> None:
        while not list(out.glob("shards/*.jsonl")):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = Thread(target=interrupt)
    thread.start()
    with pytest.raises(CommandError, match="stopped; the same command goes on from here") as stopped:
        said("synthesize", "few", out=out, processes=1)
    thread.join()
    assert stopped.value.returncode == 130
    assert "of 8 are there from before; going on" in said("synthesize", "few", out=out, processes=1)
    said("synthesize", "few", out=tmp_path / "other", processes=1)
    assert contents(out) == contents(tmp_path / "other")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_folder_that_another_command_is_at_is_left_to_it(tmp_path: Path) -> None:
    with (
        kept_until_done(tmp_path / "set" / "shards"),
        pytest.raises(CommandError, match="is being made by another command; name another folder with --out"),
    ):
        said("synthesize", "few", out=tmp_path / "set", processes=1)


@pytest.mark.parametrize("processes", [0, -1, 1000])
def test_a_number_of_processes_that_makes_no_sense_is_refused(processes: int, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="a number from 1 to 256"):
        said("synthesize", "few", out=tmp_path, processes=processes)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandError, match=r"file.*name another folder with --out"):
        said("synthesize", "few", out=tmp_path / "file" / "set", processes=1)


def test_a_recipe_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(CommandError, match="prove-13k"):
        said("synthesize", "prove-14k")


def test_verifying_what_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"manifest.json is not there; `manage.py synthesize`"):
        said("verify", tmp_path)
    (tmp_path / "manifest.json").write_text('{"recipe":')
    with pytest.raises(CommandError, match="Manifest"):
        said("verify", tmp_path)


@pytest.fixture
def knowing(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Served:
    """An endpoint with a model that rewrites well, and says of tools that none needs another."""
    verdict = '{"a_to_b": "none", "b_to_a": "none"}'
    there = serve(lambda asked: rewriting(asked) if "rewrite" in asked["messages"][0]["content"] else verdict)
    monkeypatch.setenv("PROVE_LLM_URL", there.url)
    monkeypatch.setenv("PROVE_LLM_MODEL", MODEL)
    return there


def test_a_data_set_in_a_models_words_holds_and_costs_nothing_the_second_time(tmp_path: Path, knowing: Served) -> None:
    said("synthesize", "few", out=tmp_path / "set", processes=1)
    told = said("paraphrase", tmp_path / "set", out=tmp_path / "worded")
    assert "turns in the words of scripted" in told and f"{len(knowing.asked)} requests" in told
    assert "10 of 10 hold" in said("verify", tmp_path / "worded")
    before = {path.name: path.read_bytes() for path in (tmp_path / "worded").iterdir()}
    assert "0 requests, 0 tokens" in said("paraphrase", tmp_path / "set", out=tmp_path / "worded")
    assert {path.name: path.read_bytes() for path in (tmp_path / "worded").iterdir()} == before


def test_paraphrasing_says_in_a_line_what_is_wrong(
    tmp_path: Path, knowing: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CommandError, match="name another folder"):
        said("paraphrase", tmp_path / "set", out=tmp_path / "set")
    with pytest.raises(CommandError, match=r"manifest.json is not there; `manage.py synthesize`"):
        said("paraphrase", tmp_path / "set", out=tmp_path / "worded")
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandError, match=r"file.*name another folder with --out"):
        said("paraphrase", tmp_path / "set", out=tmp_path / "file" / "worded")
    monkeypatch.delenv("PROVE_LLM_URL")
    for command in ("paraphrase", "classify"):
        with pytest.raises(CommandError, match="set PROVE_LLM_URL to its address"):
            said(command, *([tmp_path / "set"] if command == "paraphrase" else []), out=tmp_path / "worded")


def test_a_models_view_of_the_tools_is_held_against_the_graph(tmp_path: Path, knowing: Served) -> None:
    told = said("classify", servers="video_meeting", out=tmp_path / "agreement.json")
    assert "scripted: 90 ordered pairs, 0 without an answer" in told and "Cohen's kappa 0.000" in told
    assert "proven explicit, said none" in told
    agreement = json.loads((tmp_path / "agreement.json").read_text("utf-8"))
    assert agreement["kinds"]["explicit"]["recall"] is None and agreement["kinds"]["none"]["recall"] < 1
    with pytest.raises(CommandError, match="no server 'steam_engine'"):
        said("classify", servers="banking,steam_engine")
