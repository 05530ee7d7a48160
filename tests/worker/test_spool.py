"""An attempt's events on disk, and the report about a child that crashed."""

from __future__ import annotations

import errno
import resource
from pathlib import Path

import pytest

from training_worker.core.json_numbers import ODD
from training_worker.core.stage_cache import StageFailed
from training_worker.environment.episode import StaleExample
from training_worker.jobs.failure import FULL, GPU_MEMORY, MEMORY, NO_TRAINER, explain
from training_worker.jobs.spool import SpoolReader, SpoolWriter


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events-1.jsonl"


def test_a_reader_goes_on_where_it_was(path: Path) -> None:
    reader, writer = SpoolReader(path), SpoolWriter(path)
    assert reader.read() == []
    writer.write("started", pid=1)
    assert [event["seq"] for event in reader.read()] == [1]
    writer.write("ended", state="done", error="", result={})
    assert [event["kind"] for event in reader.read()] == ["started", "ended"] and reader.ended


def test_a_line_that_a_kill_cut_short_is_not_read_and_written_over(path: Path) -> None:
    SpoolWriter(path).write("started", pid=1)
    with path.open("a") as file:
        file.write('{"seq": 2, "kin')
    assert len(SpoolReader(path).read()) == 1
    SpoolWriter(path).write("progress", done=1)
    assert [event["seq"] for event in SpoolReader(path).read()] == [1, 2]


def test_what_json_has_no_number_for_becomes_null(path: Path) -> None:
    SpoolWriter(path).write("step", step=1, kl=float("nan"), spread=[float("inf"), 1.5], of={"loss": -float("inf")})
    expected = {"step": 1, "kl": None, "spread": [None, 1.5], "of": {"loss": None}}
    assert SpoolReader(path).read()[0]["data"] == {**expected, ODD: {"kl": "NaN"}}


def test_an_event_that_does_not_fit_on_the_disk_leaves_no_half_of_itself(path: Path) -> None:
    writer = SpoolWriter(path)
    writer.write("started", pid=1)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, before[1]))
    try:
        with pytest.raises(OSError):
            writer.write("progress", line="x" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    writer.write("progress", done=1)
    assert [event["seq"] for event in SpoolReader(path).read()] == [1, 2]


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/x"), FULL),
        (OSError(errno.EACCES, "Permission denied", "/x"), "The worker has no permission to write to /x."),
        (MemoryError(), MEMORY),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."), MEMORY),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), GPU_MEMORY),
        (ModuleNotFoundError("No module named 'torch'", name="torch"), NO_TRAINER),
        (StaleExample("x: banking behaves differently now."), "x: banking behaves differently now."),
        (StageFailed("Too few."), "Too few."),
        (KeyError("step"), "Unexpected error (KeyError: 'step')."),
        (None, ""),
    ],
)
def test_what_went_wrong_is_a_sentence(error: BaseException | None, says: str, tmp_path: Path) -> None:
    assert explain(error, tmp_path).startswith(says) and "\n" not in explain(error, tmp_path)
