"""Training runs done by a real worker: stopped, killed, taken over, resumed; in the end each step is reported once."""

from __future__ import annotations

import os
import shutil
import signal
import uuid
from pathlib import Path
from typing import Any

import pytest

from training_worker.jobs.job_context import JobRefusedError
from training_worker.jobs.run import settings
from training_worker.training.run_folder import RunFolder

from .conftest import TINY, Web, Workers, alive, done, of_kind

SMALL = {"policy": "warm", "prompts": 2, "group": 2, "held_out": 1, "threads": 1, "evaluate_every": 2}
ENDLESS = 100_000


@pytest.fixture
def data(web: Web, worker: Workers, made: Path) -> str:
    """A data set, and a worker for what is done with it."""
    shutil.copytree(made, web.jobs / made.name)
    worker()
    return made.name


def run_of(data: str, steps: int, **more: Any) -> dict[str, Any]:
    return {**SMALL, "dataset": data, "max_steps": steps, **more}


def steps(web: Web, job: str) -> list[int]:
    return [line["step"] for line in web.events_of(job, "step")]


def checkpoint(web: Web, job: str) -> int:
    found = RunFolder(web.jobs / job / "out").newest()
    return found.step if found else 0


def test_a_run_is_trained_watched_and_compared_and_that_once(running_worker: Web, made: Path) -> None:
    web, data = running_worker, made.name
    job = web.send("run", run_of(data, 3))
    end = web.until_ended(job)
    assert (end["state"], end["error"]) == ("done", "")
    assert steps(web, job) == [1, 2, 3]
    assert [line["step"] for line in web.events_of(job, "held_out")] == [0, 2]
    assert [(one["step"], len(one["groups"])) for one in web.events_of(job, "rollouts")] == [(1, 2), (2, 2), (3, 2)]
    assert [line["step"] for line in web.events_of(job, "checkpoint")] == [2, 3], (
        "the best on held-out worlds, and the last"
    )
    assert web.events_of(job, "checkpoint")[0]["bytes"] > 1_000_000
    result = end["result"]
    assert (result["steps"], result["ended"]) == (3, "steps")
    assert result["before"][-1]["examples"] == result["after"][-1]["examples"] == 1
    for mode in ("sampled", "greedy"):
        assert {"before", "after", "difference", "low", "high"} <= result[mode].keys()
    words = [word for word in web.events_of(job, "progress") if word["seconds_left"] is not None]
    assert words and all(word["done"] <= word["total"] and word["seconds_left"] >= 0 for word in words)
    file_stat = (web.jobs / job / "out" / "evaluations" / "before-sampled" / "rollouts.jsonl").stat()
    again = done(web.jobs / job, "run", run_of(data, 3), number=2)
    assert of_kind(again, "ended") == [end]
    assert [line["step"] for line in of_kind(again, "held_out")] == [0, 2], "told again, and not measured again"
    assert (web.jobs / job / "out" / "evaluations" / "before-sampled" / "rollouts.jsonl").stat() == file_stat
    [other] = of_kind(done(web.jobs / job, "run", run_of(data, 3, seed=5), number=3), "ended")
    assert other["error"] == "This run was begun with other settings or data. Launch a new run."


@pytest.mark.long
def test_a_run_that_was_stopped_after_a_step_goes_on_from_its_checkpoint(running_worker: Web, made: Path) -> None:
    web, data = running_worker, made.name
    spec = run_of(data, ENDLESS, minutes=60, evaluate_every=0, held_out=0)
    job = web.send("run", spec)
    web.until_step(job, 2)
    web.say(job, stop="after_step")
    assert web.until_ended(job)["state"] == "stopped"
    stopped = steps(web, job)
    assert stopped == list(range(1, checkpoint(web, job) + 1)), "what was done is in the checkpoint, and was told"
    events = done(web.jobs / job, "run", {**spec, "max_steps": stopped[-1] + 1}, number=2)
    assert of_kind(events, "rewound") == [{"step": stopped[-1]}]
    assert [line["step"] for line in of_kind(events, "step")] == [*stopped, stopped[-1] + 1]


@pytest.mark.long
def test_a_later_attempt_ends_the_one_before(web: Web, data: str, worker: Workers) -> None:
    spec = run_of(data, ENDLESS, checkpoint_every=1)
    job = web.send("run", spec)
    first = web.child(job)
    web.until_step(job, 2)
    worker()
    web.send("run", spec, job)
    second = web.child(job)
    assert second != first and not alive(first)
    web.until_step(job, 3)
    assert steps(web, job) == list(range(1, steps(web, job)[-1] + 1)), "history and new steps, without a gap"
    web.say(job, stop="now")
    web.until_ended(job)


@pytest.mark.long
def test_a_child_that_is_killed_from_outside_is_lost_and_the_next_attempt_goes_on(
    running_worker: Web, made: Path
) -> None:
    web, data = running_worker, made.name
    job = web.send("run", run_of(data, ENDLESS, checkpoint_every=2, held_out=0))
    web.until_step(job, 3)
    os.kill(web.child(job), signal.SIGKILL)
    end = web.until_ended(job)
    assert end["state"] == "lost" and "SIGKILL" in end["error"] and "memory" in end["error"]
    last = checkpoint(web, job) + 1
    events = done(web.jobs / job, "run", run_of(data, last, checkpoint_every=2, held_out=0), number=2)
    assert of_kind(events, "ended")[0]["state"] == "done"
    assert of_kind(events, "rewound") == [{"step": last - 1}]
    assert [line["step"] for line in of_kind(events, "step")] == list(range(1, last + 1))


@pytest.mark.long
def test_a_worker_that_is_shut_down_leaves_a_checkpoint_and_says_so(web: Web, data: str, worker: Workers) -> None:
    job = web.send("run", run_of(data, ENDLESS, evaluate_every=0))
    web.until_step(job, 2)
    os.kill(worker.started[0].pid, signal.SIGTERM)
    end = web.until_ended(job)
    assert (end["state"], end["error"]) == ("interrupted", "The worker was shut down; the job resumes when it is back.")
    assert steps(web, job) == list(range(1, checkpoint(web, job) + 1))
    web.until(lambda: worker.started[0].poll() is not None)


@pytest.mark.parametrize("kind", [pytest.param("run", marks=pytest.mark.long), "dataset"])
def test_a_worker_that_is_killed_leaves_no_process_behind(kind: str, web: Web, data: str, worker: Workers) -> None:
    spec = run_of(data, ENDLESS) if kind == "run" else {**TINY, "train": 100_000}
    job = web.send(kind, spec)
    child = web.child(job)
    web.until(lambda: steps(web, job) if kind == "run" else len(group(child)) > 1)
    members = group(child)
    assert child in members
    os.kill(worker.started[0].pid, signal.SIGKILL)
    web.until(lambda: not any(map(alive, members)))
    web.until(lambda: not group(worker.started[0].pid))


def group(leader: int) -> list[int]:
    """The living processes of a process group."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        pid = int(path.name)
        try:
            if os.getpgid(pid) == leader and alive(pid):
                found.append(pid)
        except ProcessLookupError:
            continue
    return found


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"policy": "/etc"}, "There is no policy '/etc'."),
        ({"policy": ["warm"]}, "There is no policy"),
        ({"dataset": "../.."}, "dataset must be the id of the job"),
        ({"dataset": None}, "dataset must be the id of the job"),
        ({"dataset": "00000000-0000-0000-0000-000000000000"}, "The dataset's files are missing."),
        ({"learning_rate": 0}, "learning_rate must be more than 0"),
        ({"learning_rate": "fast"}, "Invalid settings: learning_rate"),
        ({"minutes": float("nan")}, "minutes must be more than 0"),
        ({"group": 1}, "group must be a whole number of at least 2"),
        ({"credit": "nobody"}, "Invalid settings: credit"),
        ({"colour": "red"}, "Unknown settings: colour."),
        ({"out": "/etc"}, "Unknown settings: out."),
    ],
)
def test_settings_that_a_run_cannot_have_are_refused_in_a_sentence(more: dict[str, Any], says: str, made: Path) -> None:
    with pytest.raises(JobRefusedError) as refused:
        settings({**run_of(made.name, 1), **more}, made.parent / "run")
    assert str(refused.value).startswith(says)


def test_a_run_on_a_stale_data_set_says_which_servers_changed_and_what_to_do(made: Path, tmp_path: Path) -> None:
    data = str(uuid.uuid4())
    shutil.copytree(made, tmp_path / data)
    path = tmp_path / data / "out" / "train.jsonl"
    path.write_text(path.read_text().replace('"fingerprint":"', '"fingerprint":"0'))
    [end] = of_kind(done(tmp_path / str(uuid.uuid4()), "run", run_of(data, 1)), "ended")
    assert end["state"] == "failed" and "differently now than when this was made" in end["error"]
    assert "`manage.py verify FOLDER`" in end["error"] and "Synthesize the dataset again" in end["error"]
