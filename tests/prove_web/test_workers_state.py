"""The state of workers: those that drain, those refused, their GPUs and last hour, and jobs that they lost."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from prove_web.accounts.models import Entry, Project, User
from prove_web.live import message_broker
from prove_web.live.hints import advice
from prove_web.live.jobs import resume
from prove_web.live.models import JobEvent, State
from prove_web.live.reconcile import reconcile
from prove_web.live.tasks import reconcile as reconcile_task
from prove_web.live.views import attempts
from prove_web.workers.enrolment import drain, enrol, revoke
from prove_web.workers.models import Enrolment
from prove_web.workers.worker_drain import list_draining_workers
from prove_web.workers.worker_status import workers
from tests.waiting import eventually
from training_worker.join.compatibility import versions
from training_worker.join.file_sync import Mirror
from training_worker.join.http_client import Line
from training_worker.join.slots import shares
from training_worker.worker import heartbeat, worker_info

from .joining import CAN, Machine, evaluation, fresh, joining, over_http, run
from .story import event

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]
GPUS = {"gpus": [{"name": "H200", "memory_gb": 140.0}] * 2, "gpu": [0.5, 1.0], "gpu_memory": [0.25, 0.0]}


@pytest.fixture(autouse=True)
def data(settings: LazySettings, tmp_path: Path) -> None:
    settings.PROVE_DATA = tmp_path


@pytest.fixture
def enrolment(project: Project, alice: User) -> tuple[Enrolment, str]:
    return enrol(project.organisation, alice, "GPU box", 1)


@pytest.fixture
def machine(enrolment: tuple[Enrolment, str]) -> Machine:
    return Machine(enrolment[1])


@pytest.fixture
def alices(alice: User, as_user: Callable[[User], Client]) -> Client:
    return as_user(alice)


def page(client: Client) -> str:
    return client.get("/acme/demo/workers/").content.decode()


def drain_url(project: Project, enrolment: Enrolment) -> str:
    return reverse("enrolment-drain", args=[*project.path, enrolment.pk])


def test_a_machine_that_drains_finishes_its_job_and_gets_no_other_until_somebody_says_so(
    project: Project, machine: Machine, enrolment: tuple[Enrolment, str], alices: Client
) -> None:
    first, second, third = run(project), run(project), run(project)
    assert machine.next()["job"] == str(first.pk)
    alices.post(drain_url(project, enrolment[0]), {"on": "1"})
    assert machine.next() == {"draining": True}
    reply = machine.ask("tell", job=str(first.pk), attempt=1, events=[event(1, "started")]).json()
    assert reply == {"attempt": 1, "seq": 1, "stop": ""}, "what it is at goes on"
    assert "Draining" in page(alices) and ">Resume<" in page(alices)
    alices.post(drain_url(project, enrolment[0]), {"on": "0"})
    assert machine.next()["job"] == str(second.pk)
    drain(enrolment[0], True)
    drain(enrolment[0], True)
    machine.ask("goodbye")
    message_broker.broker().flushall()
    assert machine.ask("hello", versions=versions()).status_code == 200
    assert machine.next() == {"draining": True}, "neither is forgotten by its start nor by the broker's"
    drain(enrolment[0], False)
    assert machine.next()["job"] == str(third.pk)
    assert [one.did for one in Entry.objects.filter(did__in=("drained", "let go on")).order_by("pk")] == [
        *("drained", "let go on", "drained", "let go on")
    ]


def test_a_machine_that_is_away_can_be_drained_before_it_comes_back(
    machine: Machine, enrolment: tuple[Enrolment, str], project: Project, alices: Client
) -> None:
    run(project)
    assert "Drain " in page(alices) and alices.post(drain_url(project, enrolment[0]), {"on": "1"}).status_code == 302
    assert ">Resume<" in page(alices) and machine.next() == {"draining": True}
    revoke(enrolment[0])
    assert list_draining_workers() == set(), "who is refused needs not be told to take no more"


def test_what_drains_is_sent_again_to_a_broker_that_lost_it(enrolment: tuple[Enrolment, str]) -> None:
    drain(enrolment[0], True)
    message_broker.broker().flushall()
    reconcile_task()
    assert heartbeat.read_draining_workers(message_broker.broker()) == {enrolment[0].worker}


def test_a_team_does_not_see_machines_of_another_and_has_no_say_over_them(
    project: Project, machine: Machine, enrolment: tuple[Enrolment, str], charlie: User, as_user: Any
) -> None:
    machine.ask("next", versions=versions(), facts={"host": "secret-host"})
    theirs = Project.objects.get(organisation__slug="other")
    answer = as_user(charlie).get(reverse("workers", args=theirs.path)).content.decode()
    assert "secret-host" not in answer and enrolment[0].worker not in answer
    assert as_user(charlie).post(drain_url(theirs, enrolment[0]), {"on": "1"}).status_code == 404
    assert list_draining_workers() == set()
    assert [one.name for one in workers(project.organisation) or []] == [enrolment[0].worker]
    assert workers(theirs.organisation) == []


def test_the_command_drains_a_worker_by_name_and_says_which_there_are(db: None, capsys: Any) -> None:
    heartbeat.beat(message_broker.broker(), "training@here", {"queues": ["training"], "slots": 1})
    call_command("drain")
    assert capsys.readouterr().out == "training@here  free\n"
    call_command("drain", "training@here")
    assert "stops taking jobs" in capsys.readouterr().out and heartbeat.read_draining_workers(
        message_broker.broker()
    ) == {"training@here"}
    assert [one.state for one in workers() or []] == ["Draining"]
    heartbeat.forget(message_broker.broker(), "training@here")
    call_command("drain")
    assert capsys.readouterr().out == "training@here  draining, no heartbeat\n", "it is kept while it is away"
    call_command("drain", "training@here", "--undo")
    assert list_draining_workers() == heartbeat.read_draining_workers(message_broker.broker()) == set()
    heartbeat.beat(message_broker.broker(), "training@here", {"queues": ["training"], "slots": 1})
    with pytest.raises(CommandError, match=r"Unknown worker 'nobody'\. Workers: training@here"):
        call_command("drain", "nobody")


@pytest.mark.parametrize("endpoint", ["hello", "next"])
def test_a_machine_of_another_version_must_update_and_gets_no_job(
    project: Project, machine: Machine, alices: Client, endpoint: str
) -> None:
    job = run(project)
    for other in ({**versions(), "code": "old"}, {**versions(), "torch": "1.0"}, {}):
        answer = machine.ask(endpoint, versions=other)
        assert answer.status_code == 409 and "Install the same versions on both and join" in answer.json()["error"]
    assert fresh(job).state == State.QUEUED
    assert "Turned away" in page(alices) and "Until then it gets no jobs" in page(alices)
    turns = alices.get("/acme/demo/queue/").content.decode()
    assert "No worker serves this queue" in turns, "it is none that takes jobs"


@pytest.mark.parametrize("endpoint", ["hello", "next"])
def test_a_machine_whose_clock_is_wrong_is_refused_with_the_reason(
    project: Project, machine: Machine, endpoint: str
) -> None:
    run(project)
    for hours in (-1, 1):
        time = (datetime.now(UTC) + timedelta(hours=hours)).isoformat()
        answer = machine.ask(endpoint, versions=versions(), time=time)
        assert answer.status_code == 409 and "clock differs from the site's by 3,600 seconds" in answer.json()["error"]
    assert machine.ask(endpoint, versions=versions(), time="noon").status_code == 400
    assert machine.ask(endpoint, versions=versions(), time=datetime.now(UTC).isoformat()).status_code == 200


def test_an_event_of_a_machine_in_the_future_happens_now(project: Project, machine: Machine) -> None:
    job = run(project)
    machine.next()
    ahead = (timezone.now() + timedelta(minutes=4)).isoformat()
    machine.ask("tell", job=str(job.pk), attempt=1, events=[{**event(1, "started"), "at": ahead}])
    assert JobEvent.objects.get(job=job).at <= timezone.now() and fresh(job).started_at <= timezone.now()


def test_a_job_whose_worker_fell_silent_waits_again_and_says_why(
    project: Project, machine: Machine, alices: Client, settings: LazySettings
) -> None:
    job = run(project)
    machine.next()
    machine.ask("tell", job=str(job.pk), attempt=1, events=[event(1, "started", host="far")])
    settings.LOST_AFTER_SECONDS = 0
    reconcile()
    assert (fresh(job).state, job.attempt) == (State.QUEUED, 2)
    assert "No heartbeat from the worker for 0 seconds." in str(advice(job))
    for address in (job.run.get_absolute_url(), job.get_absolute_url()):
        assert "No heartbeat from the worker" in alices.get(address).content.decode(), address
    machine.next()
    machine.ask("tell", job=str(job.pk), attempt=2, events=[event(1, "started", host="far")])
    now, before = attempts(fresh(job))
    assert (before.number, before.state, now.number) == (1, "lost", 2)
    assert before.error.startswith("No heartbeat from the worker")
    late = machine.ask("tell", job=str(job.pk), attempt=1, events=[event(3, "started")]).json()
    assert late["attempt"] == 2, "it hears that another is at it"


def test_who_is_revoked_is_named_as_the_reason_on_the_page_of_its_job(
    project: Project, machine: Machine, enrolment: tuple[Enrolment, str]
) -> None:
    job = run(project)
    machine.next()
    revoke(enrolment[0])
    assert "The machine that ran it was revoked" in str(advice(fresh(job)))
    job.state = State.STOPPED
    job.save()
    resume(job)
    assert fresh(job).line == "", "who asks anew is told nothing old"


def test_a_job_that_no_machine_of_the_team_can_do_says_what_they_lack(
    project: Project, machine: Machine, alices: Client
) -> None:
    evaluation(project, benchmark="bfcl", options={})
    machine.next(**CAN)
    text = alices.get("/acme/demo/queue/").content.decode()
    assert "“GPU box”: it does not have BFCL multi-turn" in text
    heartbeat.beat(message_broker.broker(), "training@here", {"queues": ["training"], "slots": 1})
    assert "No available worker can run it" not in alices.get("/acme/demo/queue/").content.decode()


def test_a_machine_with_several_gpus_shows_each(project: Project, machine: Machine, alices: Client) -> None:
    machine.ask("next", versions=versions(), facts={**GPUS, "gpu_celsius": [61.0, 0], "slots": 2, "cpu": 0.1})
    [worker] = workers() or []
    assert worker.slots == 2
    assert [(one["number"], one["busy"], one["used_gb"], one["celsius"]) for one in worker.devices] == [
        *((0, 0.5, 35.0, 61.0), (1, 1.0, 0.0, 0.0))
    ]
    text = page(alices)
    assert "0 · H200" in text and "35.0 of 140.0 GB · 61 °C" in text and "1 · H200" in text
    assert "0 °C" not in text.replace("140.0 GB · 61 °C", "")


@pytest.mark.parametrize("slots", [0, -3, 10**9, "many", None, True])
def test_a_machine_has_a_sane_number_of_slots_whatever_it_says(machine: Machine, slots: Any) -> None:
    machine.ask("next", versions=versions(), facts={"slots": slots})
    [worker] = workers() or []
    assert 1 <= worker.slots <= worker_info.MOST_SLOTS


def test_the_last_hour_has_a_sample_a_minute_and_no_more(db: None) -> None:
    broker, name = message_broker.broker(), "training@here"
    for _ in range(3):
        heartbeat.beat(broker, name, {"queues": ["training"], "slots": 1, "cpu": 0.5})
    assert len(heartbeat.loads(broker, name)) == 1
    for busy in range(70):
        broker.delete(f"prove:sampled:{name}")
        heartbeat.beat(broker, name, {"cpu": 0.5, "gpu": [busy / 100, busy / 100]})
    assert [share for _, share in heartbeat.loads(broker, name)] == [busy / 100 for busy in range(10, 70)]
    broker.lset(heartbeat.loads_key(name), -1, json.dumps([heartbeat.get_broker_time(broker) - 3700, 1.0]))
    assert len(heartbeat.loads(broker, name)) == 59, "what is older than an hour is not drawn"


def test_a_worker_draws_its_hour_between_idle_and_busy(db: None) -> None:
    broker = message_broker.broker()
    for share in (0.0, 0.5):
        broker.delete("prove:sampled:training@here")
        heartbeat.beat(broker, "training@here", {"queues": ["training"], "slots": 1, "cpu": share})
    [worker] = workers() or []
    [(_, low), (_, half)] = [point.split(",") for point in worker.curve.points.split()]  # type: ignore[union-attr]
    assert float(half) > 0.4 * float(low), "half is half-way up, and not the top"
    assert worker.hour_title == "CPU over the last hour, 25% busy on average"


SMI = "NVIDIA H200, 143771, 71885, 37, 54"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (SMI, {"name": "NVIDIA H200", "memory_gb": 150.8, "used": 0.5, "busy": 0.37, "celsius": 54.0}),
        ("Tegra, [N/A], [N/A], [N/A], [N/A]", {"name": "Tegra", "memory_gb": 0, "used": 0, "busy": 0, "celsius": 0}),
        ("NVIDIA H200, 1, 2", None),
        ("", None),
    ],
)
def test_a_line_of_the_drivers_tool_is_a_gpu(line: str, found: dict[str, Any] | None) -> None:
    assert worker_info.read(line) == found


@pytest.mark.parametrize(
    ("devices", "slots", "expected"),
    [
        ([], 2, [[], []]),
        (["0", "1", "2", "3"], 2, [["0", "2"], ["1", "3"]]),
        (["0", "1", "2"], 2, [["0", "2"], ["1"]]),
        (["0", "1"], 3, [["0"], ["1"], ["0"]]),
        (["GPU-a"], 1, [["GPU-a"]]),
    ],
)
def test_slots_share_out_all_devices(devices: list[str], slots: int, expected: list[list[str]]) -> None:
    assert [[*share] for share in shares(devices, slots)] == expected


def test_a_large_file_of_lines_is_not_sent_again_with_each_line(tmp_path: Path) -> None:
    mirror = Mirror(Line("http://localhost:1", "x"), tmp_path, 1)
    mirror.sent = {"log.txt": (2_000_000, 1), "model": (2_000_000, 1)}
    assert not mirror.is_due("log.txt", 2_100_000, over=False) and mirror.is_due("log.txt", 2_200_001, over=False)
    assert mirror.is_due("log.txt", 2_000_001, over=True) and mirror.is_due("log.txt", 1_000, over=False)
    assert mirror.is_due("model", 2_000_000, over=False) and mirror.is_due("new.jsonl", 2_000_000, over=False)


@pytest.mark.long
def test_a_machine_with_slots_is_one_worker_whose_processes_end_together(
    enrolment: tuple[Enrolment, str], tmp_path: Path
) -> None:
    def heartbeat_info() -> dict[str, Any]:
        return heartbeat.read_worker_info(message_broker.broker()).get(enrolment[0].worker, {})

    with over_http() as url, joining(url, enrolment[1], tmp_path / "far", "--slots=2") as process:
        log = tmp_path / "far.log"
        eventually(lambda: log.read_text().count("Joined") == 2 or process.poll() is not None, "both slots")
        assert (heartbeat_info()["slots"], heartbeat_info()["pid"]) == (2, process.pid), log.read_text()
        slots = psutil.Process(process.pid).children()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0 and len(slots) == 2
    assert not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in slots)
    assert heartbeat_info() == {}, "it said goodbye"
