"""`manage.py synthesize` and `verify`: what they say, and what they answer to wrong input."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from training_worker.prove.synthesis import recipes


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
