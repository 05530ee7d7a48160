"""The pages of the queue and the workers: what waits and why, when it starts, and which worker runs what."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from prove_web.accounts.models import Organisation, Project, User
from prove_web.live import message_broker
from prove_web.live.jobs import enqueue
from prove_web.live.models import Job, Kind, State
from prove_web.workers.queue_view import line
from prove_web.workers.worker_status import MOST_SILENT, workers
from training_worker.worker import heartbeat

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]
As = Callable[[User], Client]
FACTS = {"queues": ["training"], "slots": 1, "host": "far.example.com", "pid": 7, "cores": 8, "memory_gb": 64.0}
FACTS |= {"gpus": [{"name": "H200", "memory_gb": 150.0}], "python": "3.12.1", "torch": "2.9", "code": "other"}
LOAD = {"cpu": 0.25, "memory": 0.5, "gpu": [0.75], "gpu_memory": [0.4]}
WORKER = "training@far.example.com"


def run(project: Project, title: str, **rest: object) -> Job:
    job = Job.objects.create(project=project, kind=Kind.RUN, title=title, spec={"minutes": 10}, **rest)
    enqueue(job)
    return job


def text(client: Client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


@pytest.fixture
def heard(broker: str) -> None:
    heartbeat.beat(message_broker.broker(), WORKER, {**FACTS, **LOAD})


def test_a_queue_lists_what_runs_what_waits_why_and_until_when(
    project: Project, alice: User, as_user: As, heard: None
) -> None:
    at_work = Job.objects.create(
        project=project, kind=Kind.RUN, title="Now", state=State.RUNNING, worker=WORKER, seconds_left=300.0
    )
    run(project, "Later"), run(project, "Last")
    queue = line("training", project, {project.pk}, workers() or [])
    assert [(turn.number, turn.job.title, turn.why, turn.seconds) for turn in queue.turns] == [
        (1, "Later", "Next, when a worker is free", 300.0),
        (2, "Last", "1 job ahead", 900.0),
    ]
    assert [job for job, _ in queue.working] == [at_work]
    page = text(as_user(alice), "/acme/demo/queue/")
    assert page.index("Now") < page.index("Later") < page.index("Last") and "in about 15 min" in page


def test_what_waits_for_another_job_or_for_a_worker_says_so(project: Project) -> None:
    failed = Job.objects.create(project=project, kind=Kind.DATASET, title="Data", state=State.FAILED)
    run(project, "First"), run(project, "Second", after=failed)
    queue = line("training", project, {project.pk}, [])
    assert [(turn.why, turn.seconds) for turn in queue.turns] == [
        ("No worker serves this queue", None),
        ("Waiting for “Data”, which is failed: resume it", None),
    ]


def test_who_is_not_in_a_team_learns_nothing_of_its_jobs_but_that_they_are_there(
    project: Project, alice: User, charlie: User, as_user: As
) -> None:
    secret = run(Project.objects.get(organisation__slug="other"), "Secret plan")
    run(project, "Ours")
    page = text(as_user(alice), "/acme/demo/queue/")
    assert "Secret" not in page and str(secret.pk) not in page and "Another team" in page
    assert "Ours" in page


def test_a_job_of_another_project_of_the_team_is_listed_and_not_moved_from_here(
    project: Project, organisation: Organisation, alice: User, as_user: As
) -> None:
    second = Project.objects.create(organisation=organisation, slug="second", name="Second")
    other = run(second, "Elsewhere")
    page = text(as_user(alice), "/acme/demo/queue/")
    assert "Elsewhere" in page and f"/jobs/{other.pk}/move/" not in page


def test_a_maintainer_moves_a_job_up_and_a_viewer_sees_no_buttons(
    project: Project, mary: User, victor: User, as_user: As
) -> None:
    first, second = run(project, "First"), run(project, "Second")
    done = as_user(mary).post(f"/acme/demo/jobs/{second.pk}/move/", {"to": "first", "next": "/acme/demo/queue/"})
    assert done.status_code == 302 and done.url == "/acme/demo/queue/"
    assert list(Job.objects.filter_queued()) == [second, first]
    page = text(as_user(victor), "/acme/demo/queue/")
    assert page.index("Second") < page.index("First") and "/move/" not in page


@pytest.mark.parametrize("to", ["", "top", "-1"])
def test_a_move_that_is_none_is_refused_in_a_sentence(project: Project, mary: User, as_user: As, to: str) -> None:
    first, second = run(project, "First"), run(project, "Second")
    client = as_user(mary)
    client.post(f"/acme/demo/jobs/{second.pk}/move/", {"to": to})
    assert list(Job.objects.filter_queued()) == [first, second]
    assert "Unknown move" in text(client, "/acme/demo/queue/")


def test_what_was_cancelled_can_be_put_back(project: Project, mary: User, as_user: As) -> None:
    job, client = run(project, "Mistake"), as_user(mary)
    client.post(f"/acme/demo/jobs/{job.pk}/stop/", {"level": "now"})
    page = text(client, "/acme/demo/queue/")
    assert "Queue is empty" in page and "Requeue" in page
    client.post(f"/acme/demo/jobs/{job.pk}/resume/")
    assert "Requeue" not in text(client, "/acme/demo/queue/")
    assert list(Job.objects.filter_queued()) == [job]


def test_a_worker_shows_its_facts_to_all_and_its_host_only_to_owners(
    project: Project, alice: User, mary: User, as_user: As, heard: None
) -> None:
    Job.objects.create(project=project, kind=Kind.RUN, title="Busy", state=State.RUNNING, worker=WORKER)
    owner_page, member_page = (text(as_user(who), "/acme/demo/workers/") for who in (alice, mary))
    for page in (owner_page, member_page):
        assert "H200" in page and "150.0 GB" in page and "Busy" in page and "It runs a different code version" in page
    assert "far.example.com" in owner_page and "far.example.com" not in member_page


def test_a_silent_worker_is_marked_and_serves_nothing(project: Project, alice: User, as_user: As) -> None:
    broker = message_broker.broker()
    heartbeat.beat(broker, WORKER, FACTS)
    broker.hset(heartbeat.HEARTBEATS, WORKER, heartbeat.get_broker_time(broker) - MOST_SILENT - 60)
    assert "Silent" in (page := text(as_user(alice), "/acme/demo/workers/")) and "Restart it" in page
    assert "No worker serves this queue" in text(as_user(alice), "/acme/demo/queue/")


@pytest.mark.parametrize("said", ["{", "[]", "7", json.dumps({"queues": 7, "slots": "x", "gpu": "y"}), "{}"])
def test_a_worker_of_another_version_is_listed_by_its_name(
    project: Project, alice: User, as_user: As, said: str
) -> None:
    heartbeat.beat(message_broker.broker(), WORKER)
    message_broker.broker().hset(heartbeat.WORKERS, WORKER, said)
    [worker] = workers() or []
    assert (worker.queues, worker.slots, worker.alive) == (("training",), 1, True)
    assert "training" in text(as_user(alice), "/acme/demo/workers/")


def test_a_worker_that_says_goodbye_is_gone(heard: None) -> None:
    heartbeat.forget(message_broker.broker(), WORKER)
    assert workers() == [] and heartbeat.read_worker_info(message_broker.broker()) == {}


def test_programs_that_do_no_jobs_are_no_workers(broker: str) -> None:
    for name in ("beat", "writer", "web-worker"):
        heartbeat.beat(message_broker.broker(), name)
    assert [worker.queues for worker in workers() or []] == []


def test_the_queue_takes_as_many_queries_for_thirty_jobs_as_for_three(
    project: Project, alice: User, as_user: As, heard: None
) -> None:
    done = {"state": State.DONE, "started_at": timezone.now() - timedelta(minutes=5), "ended_at": timezone.now()}
    Job.objects.create(project=project, kind=Kind.RUN, title="Done", **done)
    client, query_counts = as_user(alice), []
    for _ in (3, 30):
        for number in range(3 if not query_counts else 27):
            run(project, f"Run {number}")
        with CaptureQueriesContext(
            connection,
        ) as queries:
            client.get("/acme/demo/queue/")
        query_counts.append(len(queries))
    assert query_counts[0] == query_counts[1]
