"""NaN and infinity: told by workers and programs of others, kept, marked on charts, and never in the way of JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from prove_web.accounts.models import Organisation, Project, User
from prove_web.experiments.models import MetricSummary, Run
from prove_web.experiments.summary_tiles import tiles
from prove_web.live.deltas import deltas
from prove_web.live.ingest import record
from prove_web.live.models import Job
from training_worker.jobs.spool import SpoolReader, SpoolWriter
from training_worker.prove.json_numbers import ODD

from .asked_api import with_token
from .story import event, run_job

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
NAN, INF = float("nan"), float("inf")
TOLD = {1: (0.25, 1.0), 2: (NAN, 2.0), 3: (0.5, INF), 4: (NAN, -INF), 5: (NAN, 3.0)}


@pytest.fixture
def told(project: Project, tmp_path: Any) -> Job:
    """A run whose worker told of its steps through its own file of events."""
    writer = SpoolWriter(tmp_path / "events-1.jsonl")
    for step, (reward, kl) in TOLD.items():
        writer.write("step", step=step, reward=reward, kl=kl)
    writer.write("held_out", step=5, reward=NAN)
    job = run_job(project)
    record(str(job.id), 1, SpoolReader(writer.path).read())
    return Job.objects.get(pk=job.pk)


def strict(answer: Any) -> Any:
    """JSON as browsers read it: NaN is no part of it."""
    return json.loads(answer.content, parse_constant=pytest.fail)


def test_the_snapshot_the_api_and_the_file_say_where_there_was_no_number(
    told: Job, project: Project, mary: User, organisation: Organisation, as_user: Callable[[User], Client]
) -> None:
    client, run = as_user(mary), told.run
    found = strict(client.get(reverse("run-points", args=[*project.path, run.number])))
    assert found["points"]["series"]["reward"] == {"at": [0, 2], "values": [0.25, 0.5]}
    assert found["points"]["odd"] == {
        "reward": [[2, "NaN"], [4, "NaN"], [5, "NaN"]],
        "kl": [[3, "Infinity"], [4, "-Infinity"]],
    }
    assert found["held_out"]["odd"] == {"reward": [[5, "NaN"]]}
    address, query = reverse("run-metric", args=[*project.path, run.number]), {"names": "reward,kl"}
    assert strict(client.get(address, {**query, "from": 3, "to": 4}))["odd"] == {
        "reward": [[4, "NaN"]],
        "kl": [[3, "Infinity"], [4, "-Infinity"]],
    }
    file = client.get(address, {**query, "format": "csv"}).content.decode()
    assert list(csv.reader(io.StringIO(file)))[1:] == [
        ["1", "0.25", "1.0"],
        ["2", "NaN", "2.0"],
        ["3", "0.5", "Infinity"],
        ["4", "NaN", "-Infinity"],
        ["5", "NaN", "3.0"],
    ]
    api = with_token(mary, organisation).get(f"/api/v1/acme/demo/runs/{run.number}/metrics", query)
    assert strict(api)["odd"]["kl"] == [[3, "Infinity"], [4, "-Infinity"]]


def test_a_tile_says_since_when_there_is_no_number(
    told: Job, project: Project, mary: User, as_user: Callable[[User], Client]
) -> None:
    found = {tile.metric.name: tile for tile in tiles(told.run)}
    assert (found["reward"].text, found["reward"].since) == ("NaN", 4)
    assert found["kl"].odd == "" and found["held_out"].since == 5
    page = as_user(mary).get(told.run.get_absolute_url())
    assert page.status_code == 200 and "NaN/Inf since step 4" in page.content.decode()


def test_the_socket_is_told_what_was_no_number_and_what_comes_later_mends_it(told: Job) -> None:
    sent = json.loads(json.dumps(deltas(str(told.pk), 0), allow_nan=False))
    steps = {each["data"]["step"]: each["data"] for each in sent["events"] if each["kind"] == "step"}
    assert steps[4] == {"step": 4, "reward": None, "kl": None, ODD: {"reward": "NaN", "kl": "-Infinity"}}
    assert ODD not in steps[1]
    record(str(told.pk), 1, [event(told.seq + 1, "rewound", step=3), event(told.seq + 2, "step", step=4, reward=0.75)])
    run = Run.objects.get(pk=told.run.pk)
    assert dict(run.points.values_list("step", "odd")) == {
        1: None,
        2: {"reward": "NaN"},
        3: {"kl": "Infinity"},
        4: None,
    }
    assert {tile.metric.name: tile.odd for tile in tiles(run)}["reward"] == ""
    assert {*MetricSummary.objects.filter(run=run).values_list("name", flat=True)} == {"reward", "kl"}


def test_a_program_elsewhere_tells_words_which_a_number_told_again_replaces(
    project: Project, mary: User, organisation: Organisation
) -> None:
    api = with_token(mary, organisation)
    api.post("/api/v1/acme/demo/runs/outside", {"name": "Mine"}, content_type="application/json")

    def tell(**metrics: Any) -> Any:
        points = [{"step": 1, "metrics": metrics}]
        answer = api.post("/api/v1/acme/demo/runs/1/tell", {"points": points}, content_type="application/json")
        return answer.status_code, answer.json().get("stored")

    assert tell(loss="NaN", mine="-Infinity") == (200, 1)
    assert tell(loss="NaN", mine="-Infinity") == (200, 0)
    run = Run.objects.get(number=1)
    assert run.points.values_list("metrics", "odd").get() == (
        {"loss": None, "mine": None},
        {"loss": "NaN", "mine": "-Infinity"},
    )
    assert tell(loss=2.0) == (200, 1)
    assert run.points.values_list("metrics", "odd").get() == ({"loss": 2.0, "mine": None}, {"mine": "-Infinity"})
    assert tell(loss="nan")[0] == 422
