"""Machines that join: what a token lets them do, whose jobs they get, and a run that is trained far away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from prove_web.accounts.models import Project, User
from prove_web.experiments.checkpoints import checkpoints
from prove_web.experiments.models import Point, Run, StepRollouts
from prove_web.experiments.run_estimate import SHIPPED
from prove_web.live import message_broker
from prove_web.live.jobs import enqueue, request_stop
from prove_web.live.models import Job, Kind, State, StopLevel
from prove_web.workers.enrolment import enrol, revoke
from prove_web.workers.file_transfer import iter_required_files
from prove_web.workers.models import Enrolment
from prove_web.workers.quota import tidy_all
from prove_web.workers.worker_status import workers
from tests.waiting import eventually
from training_worker.core.models import left_by
from training_worker.join.compatibility import versions

from .joining import Machine, fresh, joining, over_http, run, said_of
from .story import event

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]


@pytest.fixture(autouse=True)
def data(settings: LazySettings, tmp_path: Path) -> Path:
    settings.PROVE_DATA = tmp_path / "site"
    return tmp_path / "site"


@pytest.fixture
def enrolment(project: Project, alice: User) -> tuple[Enrolment, str]:
    return enrol(project.organisation, alice, "GPU box", 1)


@pytest.fixture
def machine(enrolment: tuple[Enrolment, str]) -> Machine:
    return Machine(enrolment[1])


def test_a_token_is_stored_as_a_hash_and_displayed_once(
    project: Project, alice: User, as_user: Callable[..., Client]
) -> None:
    client = as_user(alice)
    page = client.post("/acme/demo/workers/enrol/", {"name": "GPU box", "days": "30"}).content.decode()
    token = page.split("training_worker.join http://testserver/ ")[1].split("<")[0]
    made = Enrolment.objects.get()
    assert token not in str(made.__dict__) and made.good and made.made_by == alice
    assert Machine(token).ask("next", versions=versions()).status_code == 200
    assert token not in client.get("/acme/demo/workers/").content.decode()


@pytest.mark.parametrize("page", ["hello", "next", "tell", "goodbye", "results", "file", "result"])
def test_without_a_good_token_nothing_is_answered(
    project: Project, alice: User, enrolment: tuple[Enrolment, str], page: str
) -> None:
    made, token = enrolment
    method = "get" if page == "file" else "post"
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": token}):
        assert getattr(Client(), method)(f"/worker/{page}/", headers=headers).status_code == 401
    good = {"Authorization": f"Bearer {token}"}
    assert getattr(Client(), method)(f"/worker/{page}/", headers=good).status_code != 401
    for change in ({"expires_at": timezone.now()}, {"revoked_at": timezone.now()}):
        Enrolment.objects.filter(pk=made.pk).update(**change)
        assert getattr(Client(), method)(f"/worker/{page}/", headers=good).status_code == 401


def test_a_machine_is_refused_once_its_user_may_no_longer_enrol(
    project: Project, alice: User, machine: Machine
) -> None:
    alice.memberships.update(role="maintainer")
    assert machine.ask("next").status_code == 401


def test_a_machine_of_another_version_is_turned_away_with_what_differs(machine: Machine) -> None:
    assert machine.ask("hello", versions=versions()).status_code == 200
    answer = machine.ask("hello", versions={**versions(), "code": "other"})
    assert answer.status_code == 409 and "code other" in answer.json()["error"]
    build = {name: f"{version}+cu130" if name == "torch" else version for name, version in versions().items()}
    assert machine.ask("hello", versions=build).status_code == 200


def test_a_machine_gets_the_runs_of_its_team_alone_in_their_turn(
    project: Project, charlie: User, machine: Machine, enrolment: tuple[Enrolment, str]
) -> None:
    theirs = run(Project.objects.get(organisation__slug="other"))
    data_set = Job.objects.create(project=project, kind=Kind.DATASET, title="Data")
    enqueue(data_set)
    first, second = run(project), run(project)
    assert [machine.next().get("job") for _ in range(3)] == [str(first.pk), str(second.pk), None]
    assert (fresh(first).state, first.worker) == (State.STARTING, enrolment[0].worker)
    assert fresh(theirs).state == fresh(data_set).state == State.QUEUED


def test_a_job_that_a_worker_of_the_site_has_claimed_is_not_given(project: Project, machine: Machine) -> None:
    job = run(project)
    assert message_broker.claim(job, "training@here")
    assert machine.next() == {}


def test_what_a_job_takes_is_fetched_and_nothing_else(project: Project, machine: Machine, data: Path) -> None:
    job, other = run(project), run(project)
    response = machine.next()
    source = job.spec["dataset"]
    assert [(one["job"], one["name"]) for one in response["files"]] == [(source, "out/train.jsonl")]
    answer = machine.get(job, source, "out/train.jsonl")
    assert b"".join(answer.streaming_content) == (data / "jobs" / source / "out" / "train.jsonl").read_bytes()
    for of, name in ((other.spec["dataset"], "out/train.jsonl"), (source, "out/../spec.json"), (source, "spec.json")):
        assert machine.get(job, of, name).status_code == 400
    assert machine.get(other, source, "out/train.jsonl").status_code == 400, "it is not at that job"


def test_the_next_attempt_elsewhere_takes_what_the_one_before_left(project: Project, machine: Machine) -> None:
    first = run(project)
    machine.next()
    assert (
        machine.put(first, "out/policy/card.json", b"{}") == machine.put(first, "out/policy/config.json", b"{}") == 200
    )
    second = run(project, policy=f"run:{first.pk}")
    assert (str(first.pk), "out/policy/config.json") in set(iter_required_files(second))
    assert (str(first.pk), "out/policy/config.json") in set(iter_required_files(first)), "what it has done so far"


@pytest.mark.parametrize(
    "name",
    [
        *("spec.json", "../x", "out", "out/", "out/../spec.json", "out//x", "/etc/passwd", "out/.hidden", ""),
        *("out/a/b/c/d/e/f/g", "out/x%00y", "log.txt/x", "events-1.jsonl", "out/" + "x" * 200),
    ],
)
def test_a_result_lies_in_the_jobs_results_or_nowhere(
    project: Project, machine: Machine, data: Path, name: str
) -> None:
    job = run(project)
    machine.next()
    before = sorted(data.rglob("*"))
    assert machine.put(job, name, b"x") == 400
    assert sorted(data.rglob("*")) == before


def test_a_link_in_the_results_leads_nowhere(project: Project, machine: Machine, data: Path, tmp_path: Path) -> None:
    job = run(project)
    machine.next()
    job.out.mkdir(parents=True)
    (job.out / "link").symlink_to(tmp_path)
    assert machine.put(job, "out/link/x", b"x") == 400 and not (tmp_path / "x").exists()


def test_a_result_is_there_once_its_last_piece_is_and_goes_when_the_machine_drops_it(
    project: Project, machine: Machine
) -> None:
    job = run(project)
    machine.next()
    assert machine.put(job, "out/a/x.bin", b"abc", last=0) == 200
    assert not (job.out / "a" / "x.bin").exists()
    assert machine.put(job, "out/a/x.bin", b"ef", at=4) == 400, "a piece is missing"
    assert machine.put(job, "out/a/x.bin", b"def", at=3) == 200
    assert (job.out / "a" / "x.bin").read_bytes() == b"abcdef"
    machine.put(job, "out/y.bin", b"")
    machine.ask("results", job=str(job.pk), attempt=1, names=["out/y.bin"])
    assert [path.name for path in job.out.rglob("*")] == ["y.bin"]


def test_a_piece_that_does_not_say_its_size_is_not_taken(project: Project, machine: Machine) -> None:
    job = run(project)
    machine.next()
    machine.headers |= {"Transfer-Encoding": "chunked"}
    assert machine.put(job, "out/x.bin", b"x") == 400 and not list(job.out.rglob("*"))


def test_only_the_machine_at_a_job_reports_on_it(
    project: Project, alice: User, machine: Machine, enrolment: tuple[Enrolment, str]
) -> None:
    job, other = run(project), Machine(enrol(project.organisation, alice, "Other", 1)[1])
    machine.next()
    message = {
        "job": str(job.pk),
        "attempt": 1,
        "events": [event(1, "started", host="far", pid=1, worker="training@x")],
    }
    assert other.ask("tell", **message).json()["attempt"] == 2, "it is told to let go"
    assert fresh(job).seq == 0 and other.put(job, "out/x", b"") == 400
    assert machine.ask("tell", **message).json() == {"attempt": 1, "seq": 1, "stop": ""}
    assert fresh(job).worker == enrolment[0].worker, "who it is is not for it to say"
    request_stop(job, StopLevel.AFTER_STEP)
    assert machine.ask("tell", job=str(job.pk), attempt=1, events=[]).json()["stop"] == "after_step"


def test_a_job_that_leaves_more_than_it_may_fails_and_says_so(
    project: Project, machine: Machine, settings: LazySettings
) -> None:
    settings.JOB_GB = 1e-6
    job = run(project)
    machine.next()
    job.refresh_from_db()
    assert machine.put(job, "out/first.bin", b"x" * 600) == 200
    assert machine.put(job, "out/second.bin", b"x" * 300, last=0) == 200
    assert machine.put(job, "out/second.bin", b"x" * 300, at=300) == 507
    job.refresh_from_db()
    assert job.state == State.FAILED and "the limit per job" in job.error and "PROVE_JOB_GB" in job.error
    assert {file.name for file in job.out.iterdir()} == {"first.bin"}
    assert machine.put(job, "out/third.bin", b"x") == 400, "it is not at the job any more"


def test_a_file_that_takes_the_place_of_another_is_not_counted_twice(
    project: Project, machine: Machine, settings: LazySettings
) -> None:
    settings.JOB_GB = 2e-6
    job = run(project)
    machine.next()
    job.refresh_from_db()
    assert [machine.put(job, "log.txt", b"x" * 900) for _ in range(9)] == [200] * 9


def test_what_all_jobs_of_a_machine_leave_is_bounded(
    project: Project, machine: Machine, settings: LazySettings
) -> None:
    settings.MACHINE_GB = 1e-6
    answers = []
    for _ in range(2):
        job = run(project)
        machine.next()
        job.refresh_from_db()
        answers.append(machine.put(job, "out/first.bin", b"x" * 600))
        Job.objects.filter(pk=job.pk, state=State.STARTING).update(state=State.DONE)
    job.refresh_from_db()
    assert answers == [200, 507] and "the limit per machine" in job.error


def test_the_last_of_the_disk_is_left_alone_and_the_machine_waits(
    project: Project, machine: Machine, alice: User, as_user: Callable[[User], Client], settings: LazySettings
) -> None:
    job = run(project)
    machine.next()
    job.refresh_from_db()
    settings.FREE_GB = 10**9
    assert machine.put(job, "out/first.bin", b"x") == 507
    job.refresh_from_db()
    assert job.state == State.STARTING
    run(project)
    assert machine.next() == {}
    assert "disk are free" in as_user(alice).get(reverse("workers", args=project.path)).content.decode()
    settings.FREE_GB = 0
    assert machine.put(job, "out/first.bin", b"x") == 200 and machine.next() != {}


def test_what_a_dead_machine_left_half_sent_is_removed(
    project: Project, machine: Machine, enrolment: tuple[Enrolment, str]
) -> None:
    job = run(project)
    machine.next()
    job.refresh_from_db()
    for name in ("out/first.bin", "log.txt"):
        machine.put(job, name, b"half", last=0)
    halves = [job.out / "first.bin.partial", job.folder / "log.txt.partial"]
    assert tidy_all() == 0 and all(half.exists() for half in halves), "somebody may go on with it"
    revoke(enrolment[0])
    assert not any(half.exists() for half in halves)
    old = job.out / "old.bin.partial"
    old.write_bytes(b"half")
    os.utime(old, (0, 0))
    assert tidy_all() == 1 and not old.exists()


def test_an_adapter_is_on_the_policy_that_its_run_started_from_whatever_a_machine_says(
    project: Project, machine: Machine
) -> None:
    job = run(project)
    machine.next()
    content = json.dumps({"base_model_name_or_path": "/data/jobs/theirs/out/policy", "r": 8}).encode()
    name = "out/checkpoints/checkpoint-1/adapter_config.json"
    assert machine.put(job, name, content[:20], last=0) == 200 and not (job.folder / name).exists()
    assert machine.put(job, name, content[20:], at=20) == 200
    assert json.loads((job.folder / name).read_text()) == {"base_model_name_or_path": str(SHIPPED), "r": 8}
    Job.objects.filter(pk=job.pk).update(spec={**job.spec, "policy": f"run:{uuid4()}"})
    assert machine.put(job, name, content) == 200
    base = json.loads((job.folder / name).read_text())["base_model_name_or_path"]
    assert Path(base).is_relative_to(job.folder) and not Path(base).exists(), "what is gone is not found elsewhere"
    for odd in (b"", b"7", b"{", b"[" * 100_000):
        assert machine.put(job, name, odd) == 400


def test_the_best_checkpoint_of_a_run_is_one_of_its_own(project: Project, charlie: User, machine: Machine) -> None:
    theirs, job = run(Project.objects.get(organisation__slug="other")), run(project)
    for name in ("card.json", "config.json"):
        path = theirs.out / "policy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    machine.next()
    machine.put(job, "out/checkpoints/checkpoint-x/y", b"")
    for step in (f"x/../../../../{theirs.pk}/out/policy", 7.5, None, [1]):
        line = json.dumps({"step": step, "reward": 1.0})
        machine.put(job, "out/held-out.jsonl", f"7\n{{\n{line}\n".encode())
        assert left_by(job.folder, "best") is None


FILE: dict[str, Any] = {"file": "step-000001.parquet", "digest": "0" * 64, "bytes": 1}
FILE |= {"tokens": "", "tokens_digest": "", "step": 1}
STRANGE = (
    *(event(1, "ended", state="queued", error="", result={}), event(1, "ended", state="done", error=None)),
    *(event(1, "step", step=10**30, reward=1.0), event(1, "step", step="x"), event(1, "rewound", step=None)),
    event(1, "progress", done="x", total=1, line=1, seconds_left=0),
    {**event(1, "started"), "seq": float("inf")},
    event(1, "rollouts", **FILE | {"groups": [], "digest": "../*"}),
    event(1, "rollouts", **FILE | {"groups": [], "tokens_digest": "*"}),
    event(1, "rollouts", **FILE | {"groups": [None]}),
)


def test_an_event_that_makes_no_sense_is_refused_with_a_reason_and_changes_nothing(
    project: Project, machine: Machine
) -> None:
    job = run(project)
    machine.next()
    for one in STRANGE:
        answer = machine.ask("tell", job=str(job.pk), attempt=1, events=[one])
        assert answer.status_code == 400 and answer.json()["error"], one
    assert (fresh(job).seq, job.state) == (0, State.STARTING) and not StepRollouts.objects.exists()


def test_a_body_that_makes_no_sense_is_refused_with_a_reason(project: Project, machine: Machine) -> None:
    endless = "[" * 50_000 + "]" * 50_000
    for page in ("hello", "next", "tell", "results"):
        for body in ("", "7", endless, '{"job": 1e999, "attempt": 1e999, "events": []}', '{"job": "\\u0000"}'):
            answer = machine.client.post(f"/worker/{page}/", body, "application/json", headers=machine.headers)
            assert answer.status_code in (200, 400, 409) and answer.json() is not None, (page, body[:50])


@pytest.mark.parametrize("events", [None, 7, [7], [{}], [{"seq": 1, "at": "x", "kind": "items", "data": {}}], {"a": 1}])
def test_what_is_no_event_is_refused(project: Project, machine: Machine, events: Any) -> None:
    job = run(project)
    machine.next()
    assert machine.ask("tell", job=str(job.pk), attempt=1, events=events).status_code == 400
    assert fresh(job).seq == 0


@pytest.mark.parametrize(
    "facts", [None, 7, {"gpus": [7, {"name": 1}], "cores": "many", "gpu": ["x"], "queues": ["web"]}]
)
def test_what_a_machine_says_of_itself_is_believed_as_far_as_it_can_be(
    project: Project, alice: User, as_user: Callable[..., Client], machine: Machine, facts: Any
) -> None:
    machine.ask("next", facts=facts, versions=versions())
    [worker] = workers() or []
    assert worker.queues == ("training",) and worker.slots == 1
    assert as_user(alice).get("/acme/demo/workers/").status_code == 200


def test_who_is_revoked_loses_the_job_which_others_take(
    project: Project, machine: Machine, enrolment: tuple[Enrolment, str]
) -> None:
    job = run(project)
    machine.next()
    assert revoke(enrolment[0]) == 1
    assert (fresh(job).state, job.attempt, job.failures, job.worker) == (State.QUEUED, 2, 0, "")
    assert machine.ask("tell", job=str(job.pk), attempt=1, events=[]).status_code == 401
    assert message_broker.broker().hget(f"prove:job:{job.pk}", "attempt") == "2"
    assert message_broker.broker().zcard("prove:waiting:training") == 1


def test_who_revokes_a_machine_takes_no_job_from_another_teams_worker_of_that_name(
    project: Project, alice: User, charlie: User, enrolment: tuple[Enrolment, str]
) -> None:
    theirs = run(Project.objects.get(organisation__slug="other"))
    Job.objects.filter(pk=theirs.pk).update(state=State.RUNNING, worker=enrolment[0].worker)
    assert revoke(enrolment[0]) == 0
    assert (fresh(theirs).state, theirs.attempt) == (State.RUNNING, 1)


@pytest.fixture
def site(broker: str) -> Iterator[str]:
    with over_http() as url:
        yield url


@pytest.fixture
def joined(site: str, enrolment: tuple[Enrolment, str], tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    with joining(site, enrolment[1], tmp_path / "far") as process:
        yield process


@pytest.mark.long
def test_a_machine_with_nothing_of_the_site_trains_a_run_that_is_complete_here(
    project: Project,
    enrolment: tuple[Enrolment, str],
    joined: subprocess.Popen[bytes],
    tmp_path: Path,
) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    job = run(project, prompts=2, group=2, max_steps=3, held_out=0, evaluate_every=0, threads=1, checkpoint_every=2)
    eventually(lambda: said_of(job, "attempt") > 1 or joined.poll() is not None, "the end of the run")
    joined.send_signal(signal.SIGTERM)
    assert joined.wait(60) == 0, (tmp_path / "far.log").read_text()
    assert (fresh(job).state, job.error, job.worker) == (State.DONE, "", enrolment[0].worker)
    trained = Run.objects.get(job=job)
    assert list(Point.objects.filter(run=trained).values_list("step", flat=True)) == [1, 2, 3]
    stored = list(StepRollouts.objects.filter(run=trained))
    assert len(stored) == 3 and all((job.out / "rollouts" / one.file).stat().st_size == one.bytes for one in stored)
    assert left_by(job.folder) and checkpoints(job)
    assert (job.folder / "log.txt").exists() and not list(job.folder.rglob("*.partial"))
    here, far = (
        {str(file.relative_to(folder)): file.read_bytes() for file in (folder / "out").rglob("*") if file.is_file()}
        for folder in (job.folder, tmp_path / "far" / "jobs" / str(job.pk))
    )
    assert here == far
    assert workers() == [], "it said goodbye"
