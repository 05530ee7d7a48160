"""Measurements: figures of the site in the format of Prometheus, only for those who may read them."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from prove_web.accounts.models import Project, User
from prove_web.experiments.models import Point, Run
from prove_web.live import message_broker
from prove_web.live.ingest import record
from prove_web.live.models import Job, JobEvent, Kind, State
from prove_web.operations import collector
from prove_web.trajectories.models import Dataset
from prove_web.workers.worker_drain import drain
from training_worker.worker import heartbeat

ROOT = Path(__file__).resolve().parent.parent.parent
Figures = dict[tuple[str, ...], float]


def read(**headers: str) -> Figures:
    """Return every sample: its name and the values of its labels -> its value."""
    answer = Client().get("/metrics", headers=headers)
    assert answer.status_code == 200, answer.text
    families = text_string_to_metric_families(answer.text)
    return {(one.name, *one.labels.values()): one.value for family in families for one in family.samples}


@pytest.mark.long
def test_requests_are_counted_by_page_and_answer(db: None, alice: User, as_user: Callable[[User], Client]) -> None:
    before = read()
    client = as_user(alice)
    for path in ("/acme/", "/acme/", "/health/", "/no-such-team/", "/such/page/is/not/there/"):
        client.get(path).close()
    after = read()

    def more(*key: str) -> float:
        return after[("prove_http_requests_total", *key)] - before.get(("prove_http_requests_total", *key), 0)

    assert more("GET", "200", "members") == 2
    assert more("GET", "200", "health") == 1
    assert more("GET", "404", "members") == 1
    assert more("GET", "404", "none") == 1, "what strangers make up becomes no label"
    assert after["prove_http_request_seconds_count", "GET", "members"] >= 3
    assert not any("no-such-team" in part for key in after for part in key)


def test_jobs_queues_heartbeats_events_and_disk_are_as_they_are(project: Project, broker: str) -> None:
    job = Job.objects.create(project=project, kind=Kind.GRAPH, title="Graph")
    for _ in range(2):
        Job.objects.create(project=project, kind=Kind.RUN, title="Run", state=State.DONE)
    record(str(job.id), 1, [{"seq": 1, "kind": "started", "at": "2026-01-01T00:00:00+00:00", "data": {}}])
    message_broker.broker().lpush("training", "a message", "another")
    heartbeat.beat(message_broker.broker(), "training@far")
    found = read()
    assert (found["prove_jobs", "graph", "starting"], found["prove_jobs", "run", "done"]) == (1, 2)
    assert found["prove_jobs", "dataset", "queued"] == 0
    assert [found["prove_queue_length", queue] for queue in collector.QUEUES] == [0, 0, 0, 0, 2]
    assert 0 <= found["prove_heartbeat_age_seconds", "training@far"] < 60
    assert found["prove_events_stored_total",] == JobEvent.objects.get().pk
    assert found["prove_disk_free_bytes",] > 0
    assert {key: value for key, value in found.items() if key[0] == "prove_unknown" and value} == {}


def test_the_speed_of_a_run_is_that_of_its_newest_step(project: Project, broker: str) -> None:
    job = Job.objects.create(project=project, kind=Kind.RUN, title="Run", state=State.RUNNING)
    made = Dataset.objects.create(project=project, number=1, name="Data", job=job)
    run = Run.objects.create(project=project, number=7, name="Run", dataset=made, job=job)
    Point.objects.create(run=run, step=1, metrics={"step_s": 1, "rollouts": 1, "model_tokens": 1})
    Point.objects.create(run=run, step=2, metrics={"step_s": 4, "rollouts": 32, "model_tokens": 25})
    found = read()
    at = ("acme/demo", "7")
    assert found["prove_run_step", *at] == 2
    assert found["prove_run_rollouts_per_second", *at] == 8
    assert found["prove_run_tokens_per_second", *at] == 200
    Point.objects.create(run=run, step=3, metrics={"step_s": None})
    found = read()
    assert found["prove_run_step", *at] == 3 and ("prove_run_tokens_per_second", *at) not in found


def test_jobs_are_counted_by_the_queue_that_they_wait_in(project: Project, broker: str) -> None:
    jobs = [
        *((Kind.RUN, {}), (Kind.DATASET, {}), (Kind.DATASET, {"curate": {}}), (Kind.EVALUATE, {"source": "folder"})),
        *((Kind.EVALUATE, {"source": "oracle"}), (Kind.EVALUATE, {}), (Kind.OUTSIDE, {})),
    ]
    made = [Job.objects.create(project=project, kind=kind, title="Job", spec=spec) for kind, spec in jobs]
    Job.objects.create(project=project, kind=Kind.RUN, title="Run", state=State.RUNNING)
    found = read()
    for queue in collector.QUEUES[1:]:
        assert found["prove_queue_jobs", queue, "queued"] == sum(job.queue == queue for job in made), queue
    assert found["prove_queue_jobs", "training", "running"] == 1


def test_workers_and_their_gpus_are_measured(db: None, broker: str) -> None:
    facts = {"queues": ["training"], "gpus": [{"name": "H200", "memory_gb": 140.0}], "gpu": [0.5], "gpu_memory": [0.25]}
    heartbeat.beat(message_broker.broker(), "training@far", facts | {"gpu_celsius": [61.0]})
    heartbeat.beat(message_broker.broker(), "training@old", {"queues": ["training"], "gpus": facts["gpus"]})
    drain("training@old")
    found = read()
    assert (found["prove_workers", "training", "free"], found["prove_workers", "training", "draining"]) == (1, 1)
    assert found["prove_gpu_busy_ratio", "0", "training@far"] == 0.5
    assert found["prove_gpu_memory_used_ratio", "0", "training@far"] == 0.25
    assert found["prove_gpu_temperature_celsius", "0", "training@far"] == 61.0
    assert not [key for key in found if "training@old" in key and key[0].startswith("prove_gpu")], "it told nothing"


def test_names_and_descriptions_are_as_prometheus_requires(db: None, broker: str) -> None:
    answer = Client().get("/metrics").text
    families = [one for one in text_string_to_metric_families(answer) if one.name.startswith("prove_")]
    assert families and all(one.documentation.endswith(".") and one.type != "unknown" for one in families)
    assert answer.count("# HELP prove_") == answer.count("# TYPE prove_") == len({one.name for one in families})
    for one in families:
        assert re.fullmatch(r"prove_[a-z_]+[a-z]", one.name), one.name
        assert one.type != "counter" or all(s.name.endswith(("_total", "_created")) for s in one.samples), one.name


def test_the_dashboard_queries_what_is_measured_and_the_page_documents_all_of_it(db: None, broker: str) -> None:
    board = json.loads((ROOT / "docs" / "grafana.json").read_text())
    families = {one.name: one for one in text_string_to_metric_families(Client().get("/metrics").text)}
    measured = {"prove_http_request_seconds_bucket", *(f"{name}_total" for name in families), *families}
    queried = {name for panel in board["panels"] for name in re.findall(r"prove_[a-z_]+", panel["targets"][0]["expr"])}
    assert queried and queried <= measured, queried - measured
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    documented = set(re.findall(r"`(prove_[a-z_]+)`", (ROOT / "docs" / "deploying.md").read_text()))
    ours = {f"{one.name}_total" if one.type == "counter" else one.name for one in families.values()}
    assert {name for name in ours if name.startswith("prove_") and not name.endswith("_created")} <= documented


def test_a_broker_that_is_away_leaves_the_rest_measured(db: None, settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    message_broker.broker.cache_clear()
    found = read()
    message_broker.broker.cache_clear()
    unknown = {key[1] for key, value in found.items() if key[0] == "prove_unknown" and value}
    assert unknown == {"queues", "heartbeats", "workers"}
    assert ("prove_jobs", "run", "done") in found


@pytest.mark.parametrize(
    ("token", "where", "headers", "status"),
    [
        ("", "127.0.0.1", {}, 200),
        ("", "::1", {}, 200),
        ("", "10.1.2.3", {}, 403),
        ("", "", {}, 403),
        ("", "127.0.0.1", {"X-Forwarded-For": "127.0.0.1"}, 403),
        ("", "127.0.0.1", {"Forwarded": "for=10.1.2.3"}, 403),
        ("hush", "10.1.2.3", {"Authorization": "Bearer hush"}, 200),
        ("hush", "127.0.0.1", {}, 403),
        ("hush", "127.0.0.1", {"Authorization": "Bearer hus\u00e9"}, 403),
        ("hush", "127.0.0.1", {"Authorization": "hush"}, 403),
    ],
)
def test_measurements_are_for_this_machine_or_for_who_has_the_token(
    token: str, where: str, headers: dict[str, str], status: int, db: None, broker: str, settings: Any
) -> None:
    settings.METRICS_TOKEN = token
    answer = Client(REMOTE_ADDR=where).get("/metrics", headers=headers)
    assert answer.status_code == status
    assert ("prove_jobs" in answer.text) is (status == 200)
    assert "hush" not in answer.text


def test_openmetrics_are_one_text_with_one_end(db: None, broker: str) -> None:
    answer = Client().get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    assert answer["Content-Type"].startswith("application/openmetrics-text")
    assert answer.text.count("# EOF") == 1 and answer.text.endswith("# EOF\n")


COUNTS = """
from prometheus_client import generate_latest
from prove_web.core import counters
counters.count_request("home", "GET", 200, 0.25)
counters.sockets.inc()
print(generate_latest(counters.registry()).decode())
"""


def test_several_processes_of_a_machine_count_together(tmp_path: Path) -> None:
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    for number in (1, 2):
        done = subprocess.run(
            [sys.executable, "-c", COUNTS], env=environment, capture_output=True, text=True, check=True
        )
        found = {one.name: one.value for each in text_string_to_metric_families(done.stdout) for one in each.samples}
        assert found["prove_http_requests_total"] == found["prove_http_request_seconds_count"] == number
