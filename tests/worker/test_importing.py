"""The job that reads an uploaded file: what it makes of the file, and what it leaves when it makes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from training_worker.core.trajectory import loads
from training_worker.datasets import dataset_folder
from training_worker.jobs import dataset_import
from training_worker.jobs.job_context import EventLog, JobRefusedError, JobStopped
from training_worker.jobs.spool import SpoolWriter, spool_path
from training_worker.training.stop_signal import Stop

GIVEN = {"format": "columns", "mapped": {"query": "q"}, "split": "", "keep_good": True, "file": "a.csv"}


def work(path: Path, given: dict[str, Any], stop: Stop | None = None) -> dict[str, Any]:
    tell = EventLog(SpoolWriter(spool_path(path, 1)), stop or Stop(), 1)
    return dataset_import.work({"import": given}, path, tell)


def test_a_file_becomes_a_data_set_with_a_card_and_is_not_stored_beside_it(tmp_path: Path) -> None:
    (tmp_path / "upload").write_text("q,b\nWhat is it?,1\n,2\n")
    result = work(tmp_path, GIVEN)
    assert (result["import"]["good"], result["import"]["bad"], result["import"]["rows"]) == (1, 1, 2)
    (example,) = dataset_folder.examples(tmp_path / "out", "train")
    assert example.turns == ("What is it?",) and example.source == "columns"
    assert "an imported table" in (tmp_path / "out" / "README.md").read_text("utf-8")
    assert not (tmp_path / "upload").exists() and json.loads(json.dumps(result)) == result
    assert loads(dataset_folder.Manifest, json.dumps(result["manifest"])).settings["file"] == "a.csv"


@pytest.mark.parametrize(
    ("data", "given", "why"),
    [
        (b"q,b\nWhat?,1\n,2\n", GIVEN | {"keep_good": False}, "1 of 2 rows are invalid; nothing was imported"),
        (b"\x89PNG", GIVEN, "a PNG image"),
        (b"q,b\n,1\n", GIVEN, "None of its rows"),
    ],
)
def test_what_cannot_come_in_is_refused_and_the_file_stays_for_another_try(
    tmp_path: Path, data: bytes, given: dict[str, Any], why: str
) -> None:
    (tmp_path / "upload").write_bytes(data)
    with pytest.raises(JobRefusedError, match=why):
        work(tmp_path, given)
    assert (tmp_path / "upload").exists() and not list((tmp_path / "out").glob("*.jsonl"))


def test_one_that_is_stopped_leaves_nothing_half_made(tmp_path: Path) -> None:
    (tmp_path / "upload").write_text("q,b\nWhat is it?,1\n")
    stop = Stop()
    stop.requested = True
    with pytest.raises(JobStopped):
        work(tmp_path, GIVEN, stop)
    assert not list((tmp_path / "out").glob("*.json*")) and (tmp_path / "upload").exists()
