"""Supervised runs as jobs: trained, watched and compared like any run, ended early, and refused in a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed")

from training_worker.jobs.__main__ import attempt
from training_worker.jobs.job_context import EventLog, JobRefusedError
from training_worker.jobs.policies import policy_folder
from training_worker.jobs.sft import settings
from training_worker.jobs.spool import SpoolReader, SpoolWriter, spool_path
from training_worker.training.stop_signal import Stop

JOB = "00000000-0000-4000-8000-00000000000a"
SMALL = {"policy": "warm", "batch": 1, "held_out": 1, "threads": 1, "evaluate_every": 2, "longest": 1500}


@pytest.fixture
def jobs(made: Path, tmp_path: Path) -> Path:
    """The folder of all jobs, a small data set's among them."""
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / made.name).symlink_to(made)
    return tmp_path / "jobs"


def sft_of(made: Path, **more: Any) -> dict[str, Any]:
    return {**SMALL, "dataset": made.name, **more}


def done(jobs: Path, spec: dict[str, Any], number: int = 1) -> list[dict[str, Any]]:
    """Return the events of an attempt at the job, from beginning to end."""
    folder = jobs / JOB
    folder.mkdir(exist_ok=True)
    (folder / "spec.json").write_text(json.dumps({"kind": "sft", "spec": spec}))
    attempt(folder, EventLog(SpoolWriter(spool_path(folder, number)), Stop(), number))
    return SpoolReader(spool_path(folder, number)).read()


def payloads(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event["data"] for event in events if event["kind"] == kind]


def test_a_supervised_run_is_trained_watched_and_compared(made: Path, jobs: Path) -> None:
    events = done(jobs, sft_of(made, max_steps=3))
    [end] = payloads(events, "ended")
    assert (end["state"], end["error"]) == ("done", "")
    assert [line["step"] for line in payloads(events, "step")] == [1, 2, 3]
    assert [line["step"] for line in payloads(events, "held_out")] == [0, 2]
    assert (end["result"]["steps"], end["result"]["ended"]) == (3, "steps")
    assert end["result"]["sampled"]["examples"] == 1 and end["result"]["after"][-1]["steps"] == "all"
    assert any(" of at most 3, loss" in word["line"] for word in payloads(events, "progress"))
    again = done(jobs, sft_of(made, max_steps=3), number=2)
    assert payloads(again, "ended") == [end] and len(payloads(again, "step")) == 3, (
        "all is there; nothing is done twice"
    )
    assert policy_folder(f"run:{JOB}", jobs) == jobs / JOB / "out" / "policy"


@pytest.mark.long
def test_a_run_ends_early_when_held_out_reward_does_not_rise(made: Path, jobs: Path) -> None:
    spec = sft_of(made, held_out=1, evaluate_every=1, patience=2, learning_rate=1e-12, max_steps=50)
    events = done(jobs, spec)
    [end] = payloads(events, "ended")
    assert end["error"] == "" and (end["result"]["ended"], end["result"]["steps"]) == ("patience", 2)
    assert [line["step"] for line in payloads(events, "held_out")] == [0, 1, 2]
    assert "sampled" in end["result"]
    again = done(jobs, spec, number=2)
    assert payloads(again, "ended")[0]["result"]["steps"] == 2, "and a later attempt does not train on"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"policy": "/etc"}, "There is no policy '/etc'. Available: warm."),
        ({"policy": ["warm"]}, "There is no policy"),
        ({"policy": f"run:{JOB}"}, f"The policy of run {JOB} is missing on this machine."),
        ({"policy": f"run:{JOB}/checkpoint-10"}, f"checkpoint-10 of run {JOB} is missing on this machine."),
        ({"policy": "run:../../etc"}, "There is no policy"),
        ({"dataset": "../.."}, "dataset must be the id of the job"),
        ({"dataset": "00000000-0000-0000-0000-000000000000"}, "The dataset's files are missing."),
        ({"epochs": 0}, "epochs must be a whole number of at least 1"),
        ({"batch": 1.5}, "batch must be a whole number of at least 1"),
        ({"learning_rate": 0}, "learning_rate must be more than 0"),
        ({"minutes": float("nan")}, "minutes must be more than 0"),
        ({"precision": "fp8"}, "Invalid settings: precision"),
        ({"group": 8}, "Unknown settings: group."),
    ],
)
def test_settings_that_a_supervised_run_cannot_have_are_refused_in_a_sentence(
    more: dict[str, Any], says: str, made: Path, jobs: Path
) -> None:
    with pytest.raises(JobRefusedError) as refused:
        settings(sft_of(made, **more), jobs / JOB)
    assert str(refused.value).startswith(says)
