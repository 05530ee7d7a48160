"""Workers that help with a data set: the same bytes with none, one or two, after a stop, and after one was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil
import pytest
from celery import Celery

from tests.waiting import PATIENCE, eventually
from training_worker.core.broker import celery_url
from training_worker.core.trajectory import dumps
from training_worker.graph.dependency_graph import load_or_build
from training_worker.jobs import shard_requests
from training_worker.jobs.job_context import EventLog
from training_worker.jobs.spool import SpoolReader, SpoolWriter
from training_worker.synthesis.conversation import Recipe
from training_worker.synthesis.shards import SHARDS, Draws, Shard, Task
from training_worker.training.stop_signal import Stop
from training_worker.worker import heartbeat

from .conftest import ONE_PROCESS, ROOT, Broker, Web, Workers, done

SPEC = {"seed": 0, "train": 300, "held_out": 5, "candidates": 8}
LESS = {**SPEC, "train": 55}  # in three shards
TASKS: tuple[Task, ...] = ((0, None, None), (1, "chain", None))


def alone(data: Path, graph: Path, spec: dict[str, int]) -> dict[str, bytes]:
    """The data set as a job makes it that knows no broker."""
    data.mkdir()
    (data / "graph").symlink_to(graph)
    done(data / "jobs" / str(uuid.uuid4()), "dataset", spec)
    [job] = (data / "jobs").iterdir()
    return made(job)


def made(job: Path) -> dict[str, bytes]:
    """The files of a data set that is done: nothing else is there."""
    return {path.name: path.read_bytes() for path in (job / "out").iterdir()}


def shards(job: Path) -> set[Path]:
    return set((job / "out" / SHARDS).glob("*.jsonl"))


def written(paths: Iterable[Path]) -> dict[Path, tuple[int, int]]:
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in paths}


@pytest.fixture
def drained(running_worker: Web) -> Iterator[Web]:
    """A worker that takes no jobs until it is let go on."""
    broker = running_worker.broker
    [name] = eventually(lambda: broker.hkeys(heartbeat.WORKERS), "a heartbeat")
    heartbeat.say_draining(broker, [name])
    eventually(lambda: json.loads(broker.hget(heartbeat.WORKERS, name))["drained"], "the worker to heed it")
    yield running_worker
    heartbeat.say_draining(broker, [])


@pytest.mark.long
def test_what_a_worker_brings_is_part_of_a_job_that_runs_elsewhere(
    drained: Web, tmp_path: Path, graph_folder: Path
) -> None:
    web, folder = drained, drained.jobs / drained.announce(str(uuid.uuid4()))
    folder.mkdir()
    (folder / "spec.json").write_text(json.dumps({"kind": "dataset", "spec": LESS}))
    command = [sys.executable, "-m", "training_worker.jobs", str(folder), "--attempt=1"]
    environment = {**os.environ, **ONE_PROCESS, "REDIS_URL": web.url}
    child = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
    try:
        expected = eventually(lambda: web.broker.llen("synthesis"), "the wish for help")
        child.send_signal(signal.SIGSTOP)  # from now on only the worker makes shards
        heartbeat.say_draining(web.broker, [])
        web.until(lambda: len(shards(folder)) >= expected)
        child.send_signal(signal.SIGCONT)
        assert child.wait(PATIENCE) == 0
    finally:
        child.kill()
        child.wait()
    assert made(folder) == alone(tmp_path / "alone", graph_folder, LESS)


@pytest.mark.long
def test_a_data_set_is_the_same_after_a_stop_with_a_second_worker_that_is_killed(
    web: Web, worker: Workers, tmp_path: Path, graph_folder: Path
) -> None:
    worker.environment |= ONE_PROCESS
    workers = {worker().pid, worker().pid}
    job = web.send("dataset", SPEC)
    folder = web.jobs / job
    web.until(lambda: len(shards(folder)) > 2)
    web.say(job, stop="after_step")
    assert web.until_ended(job)["state"] == "stopped"

    previous = written(shards(folder))
    web.send("dataset", SPEC, job)
    web.until(lambda: len(shards(folder) - previous.keys()) > 1)  # the first may be of the helper from before the stop
    again = [path for path, file in written(previous).items() if file != previous[path]]
    assert len(again) <= 1, "what is there is not made again, but by a helper that was at it when the job was stopped"

    child = web.child(job)
    os.killpg(child, signal.SIGSTOP)  # from now on only a helper makes shards
    before = shards(folder)
    web.until(lambda: len(shards(folder) - before) > 1)  # more than the child was writing just then
    (helper,) = workers - {parent.pid for parent in psutil.Process(child).parents()}
    os.killpg(helper, signal.SIGKILL)
    os.killpg(child, signal.SIGCONT)
    assert web.until_ended(job)["state"] == "done"
    assert made(folder) == alone(tmp_path / "alone", graph_folder, SPEC)


@pytest.fixture(scope="module")
def draws(graph_folder: Path) -> Draws:
    return Draws(load_or_build(graph_folder), Recipe(), "train")


@pytest.fixture
def order(broker: Broker, draws: Draws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> shard_requests.Order:
    """Return the shard request of a job that runs in `tmp_path`."""
    monkeypatch.setenv("REDIS_URL", broker.url)
    for known in (shard_requests.broker, shard_requests.draws_of, shard_requests.say_once):
        known.cache_clear()
    job = str(uuid.uuid4())
    folder = tmp_path / "jobs" / job / "out" / SHARDS
    folder.mkdir(parents=True)
    graph = draws.leave_graph(folder)
    name = Shard.from_tasks(draws, TASKS, folder).path.name
    shard_requests.broker().hset(f"prove:job:{job}", mapping={"attempt": 2, "seq": 0, "stop": ""})
    return shard_requests.Order(job, 2, name, graph.name, draws.recipe, draws.split, TASKS)


def left(order: shard_requests.Order, data: Path) -> list[str]:
    return sorted(path.name for path in (data / "jobs" / order.job / "out" / SHARDS).iterdir())


def test_a_helper_makes_what_the_job_would_have_made(order: shard_requests.Order, draws: Draws, tmp_path: Path) -> None:
    shard_requests.make_shard(tmp_path, dumps(order))
    assert left(order, tmp_path) == sorted([order.graph, order.name])
    own = Shard.from_tasks(draws, TASKS, tmp_path)
    own.make(draws)
    brought = tmp_path / "jobs" / order.job / "out" / SHARDS / order.name
    assert brought.read_bytes() == own.path.read_bytes()


@pytest.mark.parametrize("word", [{"stop": "after_step"}, {"stop": "now"}, {"attempt": 3}])
def test_a_job_that_was_stopped_or_ended_is_no_longer_helped(
    order: shard_requests.Order, tmp_path: Path, word: dict[str, str | int], caplog: pytest.LogCaptureFixture
) -> None:
    shard_requests.broker().hset(f"prove:job:{order.job}", mapping=word)
    shard_requests.make_shard(tmp_path, dumps(order))
    assert left(order, tmp_path) == [order.graph] and not caplog.messages


def test_a_job_that_is_done_gets_no_shard(
    order: shard_requests.Order, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "jobs" / order.job / "out" / SHARDS
    folder.rename(tmp_path / "away")
    shard_requests.make_shard(tmp_path, dumps(order))
    assert not folder.exists() and not caplog.messages


def test_a_worker_that_does_not_see_the_folder_says_so_once(
    order: shard_requests.Order, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        shard_requests.make_shard(tmp_path / "elsewhere", dumps(order))
    assert [message.split(" does not exist here. ")[1] for message in caplog.messages] == [
        "Set PROVE_DATA to one folder that all workers share."
    ]
    assert not (tmp_path / "elsewhere").exists() and left(order, tmp_path) == [order.graph]


@pytest.mark.parametrize("change", [{"name": "train-000000-0000000000000000.jsonl"}, {"tasks": "many"}])
def test_a_worker_of_other_code_leaves_it_and_says_so(
    order: shard_requests.Order, tmp_path: Path, change: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    shard_requests.make_shard(tmp_path, json.dumps({**json.loads(dumps(order)), **change}))
    assert "different code than this worker" in caplog.text and left(order, tmp_path) == [order.graph]


def test_a_broker_that_is_gone_is_nobody_to_ask(
    order: shard_requests.Order, draws: Draws, tmp_path: Path, broker: Broker
) -> None:
    app = Celery("asking", broker=celery_url(broker.url), set_as_current=False)
    helpers, shard = shard_requests.Helpers(app, order.job, order.attempt), Shard.from_tasks(draws, TASKS, tmp_path)
    assert helpers(draws, shard)
    broker.kill()
    assert not helpers(draws, shard) and not helpers(draws, shard)
    broker.start()


def test_what_an_earlier_attempt_did_says_nothing_of_the_pace_of_this_one(tmp_path: Path) -> None:
    tell = EventLog(SpoolWriter(tmp_path / "events-1.jsonl"), Stop(), 1)
    tell.make_progress_counter("conversations")(180, 200)
    (event,) = SpoolReader(tmp_path / "events-1.jsonl").read()
    assert (event["data"]["done"], event["data"]["seconds_left"]) == (180, None)


def test_the_time_left_is_reported_once_there_is_a_pace(tmp_path: Path) -> None:
    tell = EventLog(SpoolWriter(tmp_path / "events-1.jsonl"), Stop(), 1)
    count = tell.make_progress_counter("pairs")
    for number in (0, 1, 9, 10, 500):
        tell.reported_at = -60.0  # so that the next report is due
        count(number, 1_000)
    events = SpoolReader(tmp_path / "events-1.jsonl").read()
    assert [event["data"]["seconds_left"] is None for event in events] == [True, True, True, False, False]
