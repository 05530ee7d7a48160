"""Small jobs done by a real worker: every event arrives once and in order, whatever is lost on the way."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from training_worker.core.trajectory import Example, read_lines
from training_worker.datasets.recipes import PLANS, by_kind

from .conftest import TINY, Broker, Web, Workers, alive, done, of_kind

FEW = {**TINY, "train": 4, "held_out": 1}


def test_a_data_set_is_made_and_every_event_arrives_once(running_worker: Web) -> None:
    web = running_worker
    job = web.send("dataset", FEW)
    end = web.until_ended(job)
    assert (end["state"], end["error"]) == ("done", "")
    events = web.events[job]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["kind"] == "started" and web.events_of(job, "progress")
    made = {
        split: list(read_lines(Example, web.jobs / job / "out" / f"{split}.jsonl")) for split in ("train", "held_out")
    }
    assert {split: end["result"]["counts"][split]["accepted"] for split in made} == {
        split: len(examples) for split, examples in made.items()
    }


def test_a_job_that_is_stopped_now_ends_at_once(running_worker: Web) -> None:
    web = running_worker
    job = web.send("dataset", {**TINY, "train": 100_000})
    child = web.child(job)
    web.say(job, stop="now")
    assert web.until_ended(job) == {"state": "stopped", "error": "", "result": {}}
    assert not alive(child)


def test_a_graph_is_left_as_json(running_worker: Web) -> None:
    web = running_worker
    job = web.send("graph", {})
    result = web.until_ended(job)["result"]
    graph = json.loads((web.jobs / job / "out" / "graph.json").read_text())
    assert len(graph["nodes"]) == result["tools"] and len(graph["edges"]) == result["edges"] > 0


def test_events_that_were_not_stored_are_sent_again(running_worker: Web) -> None:
    web = running_worker
    web.deaf, before = True, web.heard
    job = web.send("dataset", FEW)
    web.until(lambda: web.heard >= before + 3)
    web.deaf = False
    assert web.until_ended(job)["state"] == "done"
    assert [event["seq"] for event in web.events[job]] == list(range(1, len(web.events[job]) + 1))


@pytest.mark.long
def test_a_broker_that_is_killed_and_comes_back_loses_nothing(web: Web, worker: Workers, broker: Broker) -> None:
    worker()
    job = web.send("dataset", TINY)
    web.child(job)
    broker.kill()
    broker.start()
    assert web.until_ended(job)["state"] == "done"
    assert [event["seq"] for event in web.events[job]] == list(range(1, len(web.events[job]) + 1))


def test_a_second_message_of_an_attempt_does_no_harm(running_worker: Web) -> None:
    web = running_worker
    job = web.send("dataset", FEW)
    web.message(job, "dataset", FEW)
    web.until_ended(job)
    other = web.send("graph", {})  # by the same worker, so the second message was taken before this is done
    web.until_ended(other)
    assert len(web.events_of(job, "started")) == 1
    assert len((web.jobs / job / "events-1.jsonl").read_text().splitlines()) == len(web.events[job])


@pytest.fixture
def folder(tmp_path: Path, graph_folder: Path) -> Path:
    """That of a job, which can be done without a process of its own."""
    (tmp_path / "graph").symlink_to(graph_folder)
    return tmp_path / "jobs" / "00000000-0000-4000-8000-00000000000c"


def test_a_data_set_is_made_by_recipe(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = replace(PLANS["100"], name="few", train=by_kind((4, 1, 1)), held_out=by_kind((1, 1, 1)))
    monkeypatch.setitem(PLANS, "few", few)
    events = done(folder, "dataset", {"recipe": "few"})
    [end] = of_kind(events, "ended")
    assert end["state"] == "done", end
    assert end["result"]["manifest"]["splits"]["train"]["kinds"] == few.train
    made = [path.name for path in (folder / "out").iterdir()]
    assert sorted(made) == ["held_out.jsonl", "manifest.json", "train.jsonl"]
    progress = [event["done"] for event in of_kind(events, "progress") if "conversations" in event["line"]]
    assert progress == sorted(progress) and progress[-1] == 9


def test_a_data_set_about_some_tools_is_about_them_and_tells_what_is_dropped(folder: Path) -> None:
    tools = ["send_email", "create_event"]
    events = done(folder, "dataset", {**TINY, "servers": ["email", "calendar"], "tools": tools})
    [end] = of_kind(events, "ended")
    assert end["state"] == "done", end
    made = list(read_lines(Example, folder / "out" / "train.jsonl"))
    chains = [{call.name for step in one.steps for call in step.calls} for one in made if one.kind == "chain"]
    assert chains and all(set(tools) & chain for chain in chains)
    last = of_kind(events, "progress")[-1]
    counts = end["result"]["counts"].values()
    assert last["kept"] == sum(one["made"] for one in counts)
    dropped = Counter[str]()
    for one in counts:
        dropped.update(one["dropped"])
    assert sum(last["dropped"].values()) <= dropped.total() and set(last["dropped"]) <= set(dropped)


@pytest.mark.parametrize(
    ("kind", "spec", "says"),
    [
        ("dataset", {**TINY, "train": -1}, "train must be a whole number of at least 1, not -1."),
        ("dataset", {**TINY, "colour": "red"}, "Unknown settings: colour."),
        ("dataset", {**TINY, "candidates": 2}, "candidates is too small."),
        ("dataset", {**TINY, "tools": ["fly"]}, "tools must be a list of some of the tools of these servers, not"),
        ("dataset", {"recipe": "prove-14k"}, f"recipe must be one of {', '.join(PLANS)}, not 'prove-14k'."),
        ("dataset", {"recipe": "100", "train": 5}, "Unknown settings: train."),
        ("graph", {"seed": 1}, "Unknown settings: seed."),
    ],
)
def test_what_a_worker_cannot_do_is_refused_in_a_sentence(
    folder: Path, kind: str, spec: dict[str, object], says: str
) -> None:
    [end] = of_kind(done(folder, kind, spec), "ended")
    assert end["state"] == "failed" and end["error"].startswith(says)
    assert "Traceback" not in end["error"]
