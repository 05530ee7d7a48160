"""Evaluations as jobs: reported item by item, killed and resumed, stopped, never repeated, or refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse

from tests.prove.serving import MODEL, RequestBody, Serve, Served
from training_worker.evaluation.allowlist import endpoints
from training_worker.evaluation.environment import NotInstalled, find_interpreter
from training_worker.evaluation.registry import KNOWN
from training_worker.evaluation.results import ITEMS as FILE
from training_worker.jobs.__main__ import attempt
from training_worker.jobs.evaluate import work
from training_worker.jobs.job_context import STOPPED, EventLog, JobRefusedError
from training_worker.jobs.policies import policy_folder
from training_worker.jobs.spool import SpoolReader, SpoolWriter, spool_path
from training_worker.training.stop_signal import Stop

from .sums import ITEMS, SUMS, answer

ROOT = Path(__file__).parents[2]
JOB, OTHER = (f"00000000-0000-4000-8000-00000000000{digit}" for digit in "ab")
SPEC = {"project": 1, "benchmark": "sums", "source": "endpoint", "model": MODEL, "parallel": 1}
Events = list[dict[str, Any]]
HALF = ITEMS // 2


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KNOWN, SUMS.name, SUMS)


@pytest.fixture
def serve_sums(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Served]:
    """Serve the site's endpoint: it answers sums, and `happens` runs before its answer to request number `at`."""

    def begin(at: int = 0, happens: Callable[[], object] = lambda: None) -> Served:
        def answering(request: RequestBody) -> str:
            if len(served.requests) == at:
                happens()
            return answer(request["messages"][-1]["content"])

        served = serve(answering)
        monkeypatch.setenv("PROVE_LLM_URL", served.url)
        monkeypatch.setenv("PROVE_LLM_RETRIES", "0")
        return served

    return begin


def done(data: Path, spec: dict[str, Any] = SPEC, job: str = JOB, number: int = 1, stop: Stop | None = None) -> Events:
    """Return the events of an attempt at the job, from beginning to end."""
    folder = folder_of(data, spec, job)
    attempt(folder, EventLog(SpoolWriter(spool_path(folder, number)), stop or Stop(), number))
    return SpoolReader(spool_path(folder, number)).read()


def folder_of(data: Path, spec: dict[str, Any], job: str = JOB) -> Path:
    folder = data / "jobs" / job
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spec.json").write_text(json.dumps({"kind": "evaluate", "spec": spec}))
    return folder


def payloads(events: Events, kind: str) -> list[dict[str, Any]]:
    return [event["data"] for event in events if event["kind"] == kind]


def items(events: Events) -> list[dict[str, Any]]:
    return [*chain.from_iterable(data["items"] for data in payloads(events, "items"))]


def report(events: Events) -> dict[str, Any]:
    """Return the report without the seconds, which depend on the machine."""
    [end] = payloads(events, "ended")
    assert (end["state"], end["error"]) == ("done", "")
    return {**end["result"]["report"], "seconds": 0}


@pytest.mark.long
def test_killed_half_way_and_resumed_it_reports_the_same(serve_sums: Callable[..., Served], tmp_path: Path) -> None:
    def kill() -> None:
        [first] = payloads(SpoolReader(spool_path(folder, 1)).read(), "started")
        os.kill(first["pid"], signal.SIGKILL)

    folder = folder_of(tmp_path / "killed", SPEC)
    served = serve_sums(HALF, kill)
    command = [sys.executable, "-m", "tests.worker.sums", str(folder)]
    child = subprocess.run([*command, "--attempt=1"], cwd=ROOT)
    assert child.returncode == -signal.SIGKILL
    before = [one["item"] for one in items(SpoolReader(spool_path(folder, 1)).read())]
    assert subprocess.run([*command, "--attempt=2"], cwd=ROOT).returncode == 0
    events = SpoolReader(spool_path(folder, 2)).read()
    assert [one["item"] for one in items(events)][: len(before)] == before, "what was there before is told first"
    serve_sums()
    uninterrupted = done(tmp_path / "whole")
    assert report(events) == report(uninterrupted) and report(uninterrupted)["overall"]["accuracy"] == 1.0
    assert len(items(events)) == ITEMS
    assert len(served.requests) == ITEMS + 1, "only the question under way is asked again"
    lines = (tmp_path / "killed" / payloads(events, "ended")[0]["result"]["folder"] / FILE).read_text().splitlines()
    assert [json.loads(lines[one["line"]])["item"] for one in items(events)] == [one["item"] for one in items(events)]


def test_after_a_stop_request_it_finishes_what_is_under_way_and_stores_it(
    serve_sums: Callable[..., Served], tmp_path: Path
) -> None:
    stop = Stop()
    served = serve_sums(HALF, stop.request)
    folder = folder_of(tmp_path, SPEC)
    assert attempt(folder, EventLog(SpoolWriter(spool_path(folder, 1)), stop, 1)) == STOPPED
    events = SpoolReader(spool_path(folder, 1)).read()
    assert len(items(events)) == len(served.requests) == HALF and payloads(events, "ended") == []
    assert len(items(done(tmp_path, number=2))) == len(served.requests) == ITEMS


def test_a_second_evaluation_of_the_same_asks_nothing_and_another_project_asks_for_itself(
    serve_sums: Callable[..., Served], tmp_path: Path
) -> None:
    served = serve_sums()
    first = done(tmp_path)
    again = done(tmp_path, job=OTHER)
    assert (items(again), report(again)) == (items(first), report(first)) and len(served.requests) == ITEMS
    more = done(tmp_path, {**SPEC, "trials": 2}, job=OTHER, number=2)
    assert len(items(more)) == 2 * ITEMS == len(served.requests), "of the second trials alone"
    theirs = payloads(done(tmp_path, {**SPEC, "project": 2}), "ended")[-1]["result"]["folder"]
    assert theirs.startswith("benchmarks/projects/2/sums/")


def test_items_are_reported_with_what_identifies_them(serve_sums: Callable[..., Served], tmp_path: Path) -> None:
    serve_sums()
    first, *_ = events = payloads(done(tmp_path, {**SPEC, "categories": ["odd"], "limit": 1}), "items")
    about = {"benchmark": "sums", "version": "1", "settings": {}, "model": MODEL}
    assert {json.dumps(event["identity"]) for event in events} == {json.dumps(about)} and first["items"] == []
    [one] = [item for event in events for item in event["items"]]
    assert one.pop("seconds") >= 0
    assert one == {
        **{"item": "0+1", "category": "odd", "passed": True, "value": 1.0, "failure": ""},
        **{"steps": 1, "tokens": 10, "calls": 0, "line": 0},
    }


def test_an_endpoint_that_is_away_is_no_score(serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    served = serve(lambda request: JSONResponse({"error": "no room"}, 503))
    monkeypatch.setenv("PROVE_LLM_URL", served.url)
    monkeypatch.setenv("PROVE_LLM_RETRIES", "0")
    [end] = payloads(done(tmp_path), "ended")
    assert end["state"] == "failed" and "503" in end["error"] and "then resume" in end["error"]


def test_a_model_of_a_folder_has_the_requested_name(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    spec = {"project": 1, "benchmark": "sums", "source": "folder", "policy": "warm", "limit": 1}
    found = report(done(tmp_path, {**spec, "model": "run 3"}))
    assert found["identity"]["model"] == "run 3" and len(found["identity"]["sampling"]["weights"]) == 16


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"benchmark": "bfcl"}, "bfcl is not installed in "),
        ({"benchmark": "none"}, "There is no benchmark 'none'"),
        ({"categories": ["large"]}, "Sums has no category 'large'; it has even, odd."),
        ({"options": {"size": "1"}}, "Sums has no option 'size'"),
        ({"source": "folder", "policy": "/etc"}, "There is no policy '/etc'"),
        ({"source": "folder", "policy": f"run:{OTHER}"}, f"The policy of run {OTHER} is missing on this machine."),
        (
            {"source": "folder", "policy": f"run:{OTHER}/best"},
            f"The best checkpoint of run {OTHER} is missing on this machine.",
        ),
        ({"url": "http://169.254.169.254/v1"}, "http://169.254.169.254/v1 is not an allowed endpoint."),
        ({"options": {"user": "http://10.0.0.1/v1"}}, "http://10.0.0.1/v1 is not an allowed endpoint."),
        ({"source": "elsewhere"}, "Invalid settings: source"),
        ({"limit": 0}, "limit must be a whole number of at least 1"),
        ({"trials": 1.5}, "trials must be a whole number of at least 1"),
        ({"project": "../.."}, "project must be a whole number of at least 1"),
        ({"folder": "/etc"}, "Unknown settings: folder."),
        ({"model": ""}, "No endpoint is set: set PROVE_LLM_URL"),
    ],
)
def test_what_cannot_be_evaluated_is_refused_in_a_sentence(
    more: dict[str, Any], says: str, serve_sums: Callable[..., Served], tmp_path: Path
) -> None:
    serve_sums()
    folder = folder_of(tmp_path, SPEC)
    with pytest.raises(JobRefusedError) as refused:
        work({**SPEC, **more}, folder, EventLog(SpoolWriter(spool_path(folder, 1)), Stop(), 1))
    assert str(refused.value).startswith(says)


def test_the_operator_lists_the_endpoints() -> None:
    assert endpoints({}) == ()
    given = {"PROVE_LLM_URL": "http://a/v1", "PROVE_EVALUATE_ENDPOINTS": " http://b/v1, http://a/v1\n"}
    assert endpoints(given) == ("http://a/v1", "http://b/v1")


def test_the_best_checkpoint_is_the_stored_one_with_the_highest_held_out_reward(tmp_path: Path) -> None:
    out = tmp_path / JOB / "out"
    rewards = {0: 0.9, 20: 0.7, 40: 0.8, 60: None, 80: 0.7}
    for step in (20, 60, 80):
        folder = out / "checkpoints" / f"checkpoint-{step}"
        folder.mkdir(parents=True)
        for name in ("card.json", "config.json"):
            (folder / name).touch()
    lines = [{"step": step, "reward": reward} for step, reward in rewards.items()]
    (out / "held-out.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert policy_folder(f"run:{JOB}/best", tmp_path).name == "checkpoint-20", "40 is not kept, 0 is none"


def test_bfcl_is_evaluated_where_it_is_installed(tmp_path: Path) -> None:
    root = Path(os.environ.get("PROVE_BENCHMARKS", ROOT / "data" / "benchmarks"))
    try:
        find_interpreter(root / "bfcl-env", "bfcl")
    except NotInstalled as reason:
        pytest.skip(str(reason))
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "bfcl-env").symlink_to(root / "bfcl-env")
    found = report(done(tmp_path, {"project": 1, "benchmark": "bfcl", "source": "oracle", "limit": 1}))
    assert found["overall"]["accuracy"] == 1.0 and [one["run"] for one in found["categories"]] == [1, 1, 1, 1]


@pytest.mark.long
def test_torch_is_not_needed_to_ask_an_endpoint() -> None:
    code = "import training_worker.jobs.evaluate, sys; print('torch' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout == "False\n"
