"""Stages: finished work is cached, changed inputs start from scratch, and a crash is no result and loses nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from training_worker.core.stage_cache import DONE, STARTED, Outcome, StageFailed, only_one, read, run_stage, write

HOLD = """
import sys
from pathlib import Path
from training_worker.core.stage_cache import only_one
with only_one(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


class Work:
    """The work of a stage: it leaves a file, records the files it found, and can be made to crash half-way."""

    def __init__(self, folder: Path):
        self.folder, self.runs, self.found = folder, 0, list[str]()

    def run(self, inputs: dict[str, Any], crash: bool = False) -> Outcome:
        def work(folder: Path) -> dict[str, Any]:
            self.runs += 1
            self.found = sorted(path.name for path in folder.iterdir() if path.name != STARTED)
            (folder / "half").write_text("half")
            if crash:
                raise KeyboardInterrupt
            (folder / "whole").write_text("whole")
            return {"run": self.runs}

        return run_stage(self.folder, inputs, work)


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path / "stage")


def test_a_finished_stage_is_cached(work: Work) -> None:
    first, second = work.run({"a": 1, "b": [2]}), work.run({"b": [2], "a": 1})
    assert (first.cached, second.cached, work.runs) == (False, True, 1)
    assert (first.summary, first.key, first.folder) == (second.summary, second.key, second.folder)
    assert first.summary == {"run": 1} and first.changed == ""


def test_other_inputs_start_in_an_empty_folder_and_say_what_changed(work: Work) -> None:
    first = work.run({"a": 1, "b": 2, "c": 3})
    second = work.run({"a": 1, "b": 5, "c": 4})
    assert work.runs == 2 and work.found == [] and not second.cached
    assert second.changed == "b, c" and second.key != first.key
    assert work.run({"a": 1, "b": 2, "c": 3}).cached is False


def test_interrupted_work_finds_its_folder_again(work: Work) -> None:
    with pytest.raises(KeyboardInterrupt):
        work.run({"a": 1}, crash=True)
    assert not (work.folder / DONE).exists()
    again = work.run({"a": 1})
    assert work.found == ["half"] and work.runs == 2 and not again.cached and again.changed == ""
    assert work.run({"a": 1}).cached


def test_interrupted_work_for_other_inputs_is_cleared_away(work: Work) -> None:
    with pytest.raises(KeyboardInterrupt):
        work.run({"a": 1}, crash=True)
    work.run({"a": 2})
    assert work.found == []


def test_a_crash_after_other_inputs_does_not_bring_the_old_result_back(work: Work) -> None:
    work.run({"a": 1})
    with pytest.raises(KeyboardInterrupt):
        work.run({"a": 2}, crash=True)
    assert not work.run({"a": 1}).cached and work.found == []


@pytest.mark.parametrize("torn", ["", "{", "[]", "7"])
def test_a_torn_mark_is_no_mark(torn: str, work: Work) -> None:
    work.run({"a": 1})
    (work.folder / DONE).write_text(torn)
    assert read(work.folder / DONE) == {}
    assert not work.run({"a": 1}).cached and work.run({"a": 1}).cached


def test_a_mark_is_written_completely_and_read_again(tmp_path: Path) -> None:
    value = {"text": "ü", "list": [1, {"deep": None}]}
    write(tmp_path / "mark", value)
    assert read(tmp_path / "mark") == value and [path.name for path in tmp_path.iterdir()] == ["mark"]
    assert read(tmp_path / "none") == {}


def test_a_folder_has_one_holder_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    with only_one(folder), pytest.raises(StageFailed, match="Another run is using"), only_one(folder):
        pass
    with only_one(folder):
        assert folder.is_dir()


def test_a_holder_that_failed_holds_no_longer(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), only_one(tmp_path):
        raise ZeroDivisionError
    with only_one(tmp_path):
        assert (tmp_path / "lock").exists()


def test_a_folder_held_by_another_process_is_refused_until_that_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(StageFailed, match="--data to another folder"), only_one(tmp_path):
            pass
        holder.kill()
    with only_one(tmp_path):
        assert (tmp_path / "lock").exists()
