"""NaN and infinity: sent by workers and external programs, stored, marked on charts, and never part of JSON."""

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
from training_worker.core.json_numbers import ODD
from training_worker.jobs.spool import SpoolReader, SpoolWriter

from .api_operations import with_token
from .story import event, run_job

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
NAN, INF = float("nan"), float("inf")
METRICS = {1: (0.25, 1.0), 2: (NAN, 2.0), 3: (0.5, INF), 4: (NAN, -INF), 5: (NAN, 3.0)}


@pytest.fixture
def trained_job(project: Project, tmp_path: Any) -> Job:
    """Create a run and record its steps from the event file of its worker."""
    writer = SpoolWriter(tmp_path / "events-1.jsonl")
    for step, (reward, kl) in METRICS.items():
        writer.write("step", step=step, reward=reward, kl=kl)
    writer.write("held_out", step=5, reward=NAN)
    job = run_job(project)
    record(str(job.id), 1, SpoolReader(writer.path).read())
    return Job.objects.get(pk=job.pk)


def strict(answer: Any) -> Any:
    """Parse JSON as browsers do: NaN is not part of it."""
    return json.loads(answer.content, parse_constant=pytest.fail)


def test_the_snapshot_the_api_and_the_file_say_where_there_was_no_number(
    trained_job: Job, project: Project, mary: User, organisation: Organisation, as_user: Callable[[User], Client]
) -> None:
    client, run = as_user(mary), trained_job.run
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
    trained_job: Job, project: Project, mary: User, as_user: Callable[[User], Client]
) -> None:
    found = {tile.metric.name: tile for tile in tiles(trained_job.run)}
    assert (found["reward"].text, found["reward"].since) == ("NaN", 4)
    assert found["kl"].odd == "" and found["held_out"].since == 5
    page = as_user(mary).get(trained_job.run.get_absolute_url())
    assert page.status_code == 200 and "NaN/Inf since step 4" in page.content.decode()


def test_the_socket_gets_what_was_no_number_and_a_later_number_replaces_it(trained_job: Job) -> None:
    sent = json.loads(json.dumps(deltas(str(trained_job.pk), 0), allow_nan=False))
    steps = {each["data"]["step"]: each["data"] for each in sent["events"] if each["kind"] == "step"}
    assert steps[4] == {"step": 4, "reward": None, "kl": None, ODD: {"reward": "NaN", "kl": "-Infinity"}}
    assert ODD not in steps[1]
    record(
        str(trained_job.pk),
        1,
        [event(trained_job.seq + 1, "rewound", step=3), event(trained_job.seq + 2, "step", step=4, reward=0.75)],
    )
    run = Run.objects.get(pk=trained_job.run.pk)
    assert dict(run.points.values_list("step", "odd")) == {
        1: None,
        2: {"reward": "NaN"},
        3: {"kl": "Infinity"},
        4: None,
    }
    assert {tile.metric.name: tile.odd for tile in tiles(run)}["reward"] == ""
    assert {*MetricSummary.objects.filter(run=run).values_list("name", flat=True)} == {"reward", "kl"}


def test_an_external_program_sends_words_which_a_later_number_replaces(
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
