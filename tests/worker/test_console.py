"""The console log of a job: not empty while it runs, with all that the child and its libraries write, and bounded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from prove_web.live.log import tail
from training_worker.jobs import console

from .conftest import TINY, Web

NOISE = """
import ctypes, logging, os, sys, warnings
from training_worker.jobs.console import configure
configure()
logging.getLogger("training_worker.x").info("our own")
logging.getLogger("some.library").warning("of a library")
warnings.warn("old argument")
print("printed")
ctypes.CDLL(None).puts(b"from C")
os.system("echo from a child")
ctypes.string_at(0)
"""


def test_the_log_of_a_job_has_lines_while_it_runs_and_says_how_it_went(running_worker: Web) -> None:
    web = running_worker
    job = web.send("dataset", {**TINY, "train": 4, "held_out": 1})
    web.child(job)
    log = web.jobs / job / console.LOG
    [first, second, *_] = tail(log).splitlines()  # which the job's page shows
    assert first.endswith("INFO attempt 1 of dataset job started") and "INFO started on " in second
    assert web.until_ended(job)["state"] == "done"
    text = log.read_text()
    assert "conversations, each replayed" in text and text.endswith("INFO done\n")


def test_a_refusal_is_the_last_line_of_the_log_without_a_traceback(running_worker: Web) -> None:
    web = running_worker
    job = web.send("dataset", {"recipe": "none"})
    error = web.until_ended(job)["error"]
    text = (web.jobs / job / console.LOG).read_text()
    assert text.endswith(f"ERROR failed: {error}\n") and "Traceback" not in text


def test_all_that_a_process_writes_reaches_the_log_even_if_it_crashes(tmp_path: Path) -> None:
    path = tmp_path / console.LOG
    with path.open("ab") as log:
        child = subprocess.run([sys.executable, "-u", "-c", NOISE], stdout=log, stderr=log, check=False)
    lines = path.read_text().splitlines()
    assert child.returncode < 0
    for said in ("INFO our own", "WARNING of a library", "UserWarning: old argument", "printed", "from C"):
        assert any(line.endswith(said) for line in lines), said
    assert lines.index("from C") < lines.index("from a child") and any("Segmentation fault" in one for one in lines)


def test_a_log_that_grows_too_long_keeps_its_newer_half_and_complete_lines(tmp_path: Path) -> None:
    path = tmp_path / console.LOG
    with path.open("ab", buffering=0) as child:
        child.write(b"".join(b"line %05d\n" % number for number in range(1_000)))
        console.trim(path, most=11_000)
        assert path.stat().st_size == 11_000
        console.trim(path, most=1_100)
        child.write(b"the next line\n")
    notice, *lines = path.read_text().splitlines()
    assert "earlier lines were removed" in notice
    assert lines == [*(f"line {number:05}" for number in range(951, 1_000)), "the next line"]


def test_progress_that_says_nothing_new_makes_no_line() -> None:
    report = console.Report()
    lines = [report.line_of("progress", {"line": line, "done": done, "total": 3}) for line, done in SAID]
    assert lines == ["reading (0 of 3)", "", "writing (2 of 3)", "writing (3 of 3)"]


SAID = (("reading", 0), ("reading", 1), ("writing", 2), ("writing", 3))
