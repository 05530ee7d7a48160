"""A test run that is killed leaves none of the processes behind that its fixtures started."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.site.running import ROOT
from tests.together import MARK
from tests.waiting import eventually

RUN = """
import pathlib, subprocess, sys, tempfile, time
from tests.together import end_together
end_together()
from tests.site.running import Site
from tests.worker.conftest import Broker
data = pathlib.Path(sys.argv[1])
(data / "graphs").mkdir()
with tempfile.TemporaryDirectory(prefix="pv") as short:
    Broker(pathlib.Path(short)).start()
    Site(data, data / "graphs", PROVE_DEMO="none")
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    time.sleep(600)
"""
STARTED = ("valkey", "manage.py serve", "uvicorn", "-Q events", "-Q training", "mcp_servers", "import time; time")


@pytest.fixture
def run(tmp_path: Path, migrated: Path) -> Iterator[psutil.Popen]:
    shutil.copy(migrated, tmp_path / "prove.sqlite3")
    clean = {name: value for name, value in os.environ.items() if name != MARK}
    process = psutil.Popen([sys.executable, "-c", RUN, str(tmp_path)], cwd=ROOT, env={**clean, "PYTHONPATH": str(ROOT)})
    yield process
    for each in (process, *process.children(recursive=True)) if process.is_running() else ():
        each.kill()


def commands(processes: list[psutil.Process]) -> str:
    return "\n".join(" ".join(process.cmdline()) for process in processes if process.is_running())


def test_all_that_a_killed_test_run_started_ends_by_itself(run: psutil.Popen) -> None:

    def all_started() -> bool:
        running = commands(run.children(recursive=True))
        return all(words in running for words in STARTED)

    eventually(all_started, "the start", every=0.5)
    started = run.children(recursive=True)
    run.kill()
    run.wait()
    eventually(lambda: not psutil.wait_procs(started, timeout=1)[1], "the end of all of them")
