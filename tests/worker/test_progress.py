"""How often a job reports its progress: by time alone, however many items it works through."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from training_worker.jobs import dataset_import
from training_worker.jobs.job_context import OFTEN, EventLog, JobStopped
from training_worker.jobs.spool import SpoolReader, SpoolWriter, spool_path
from training_worker.training.stop_signal import Stop

ROOT = Path(__file__).parents[2]
ITEMS = 300
MOST = 3  # events while the clock stands still: the first, that all is done, and one for a second file or phase
ROWS = [{"query": f"What is {number}?", "other": "x"} for number in range(ITEMS)]
GIVEN = {"format": "columns", "mapped": {"query": "query"}, "split": "", "keep_good": True, "file": "a"}


class Clock:
    """Seconds that pass only when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def teller(folder: Path, clock: Clock, stop: Stop | None = None) -> EventLog:
    return EventLog(SpoolWriter(spool_path(folder, 1)), stop or Stop(), 1, clock)


def reported(folder: Path) -> list[dict[str, Any]]:
    events = SpoolReader(spool_path(folder, 1)).read()
    return [event["data"] for event in events if event["kind"] == "progress"]


def as_csv(path: Path) -> None:
    path.write_text("query,other\n" + "".join(f"{row['query']},x\n" for row in ROWS))


def as_lines(path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))


def as_array(path: Path) -> None:
    path.write_text(json.dumps(ROWS))


def as_parquet(path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(ROWS), path)


@pytest.mark.parametrize("write", [as_csv, as_lines, as_array, as_parquet])
def test_an_import_of_many_rows_reports_a_few_events_while_the_clock_stands_still(
    tmp_path: Path, write: Callable[[Path], None]
) -> None:
    write(tmp_path / "upload")
    result = dataset_import.work({"import": GIVEN}, tmp_path, teller(tmp_path, Clock()))
    assert result["import"]["good"] == ITEMS
    assert 1 <= len(reported(tmp_path)) <= MOST


@pytest.mark.parametrize("total", [0, ITEMS])
def test_progress_is_reported_once_a_second_whether_the_total_is_known_or_not(tmp_path: Path, total: int) -> None:
    clock = Clock()
    tell = teller(tmp_path, clock)
    for done in range(1, ITEMS + 1):
        clock.now += OFTEN / 8
        tell.progress(done, total, "rows")
    assert ITEMS // 8 <= len(reported(tmp_path)) <= ITEMS // 8 + 2


def test_the_end_of_what_is_counted_is_reported_at_once_and_once(tmp_path: Path) -> None:
    tell = teller(tmp_path, Clock())
    count, again = tell.make_progress_counter("train"), tell.make_progress_counter("held-out", ITEMS)
    for done in range(ITEMS + 1):
        count(done, ITEMS)
    for _ in range(ITEMS):
        count(ITEMS, ITEMS)
    for done in range(ITEMS + 1):
        again(done, ITEMS)
    assert [one["done"] for one in reported(tmp_path)] == [0, ITEMS, 2 * ITEMS]


def test_a_job_that_is_to_stop_does_so_at_its_next_item(tmp_path: Path) -> None:
    stop = Stop()
    tell = teller(tmp_path, Clock(), stop)
    tell.progress(1, 0, "rows")
    stop.request()
    with pytest.raises(JobStopped):
        tell.progress(2, 0, "rows")


def test_nothing_reports_progress_past_the_one_place_that_throttles_it() -> None:
    """But for the begin of a held-out evaluation, which is rarer than the point it ends with."""
    found = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "training_worker").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and any(isinstance(one, ast.Constant) and one.value == "progress" for one in node.args)
    }
    assert found == {"training_worker/jobs/job_context.py", "training_worker/jobs/eval_callback.py"}
