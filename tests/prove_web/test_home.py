"""The home and job pages report the state of jobs and what to do about it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from prove_web.accounts.models import Project, User
from prove_web.experiments.models import HeldOut, Point, Run
from prove_web.live.log import LINES, tail
from prove_web.live.models import Job, JobEvent, Kind, State
from prove_web.servers.models import LiveSession

from .story import run_job

As = Callable[[User], Client]
pytestmark = pytest.mark.django_db


def job_of(project: Project, state: str = State.RUNNING, **more: Any) -> Job:
    return Job.objects.create(**{"project": project, "kind": Kind.RUN, "title": "A run", "state": state, **more})


def page_of(client: Client, job: Job, **headers: str) -> str:
    return client.get(reverse("job", args=[*job.project.path, job.pk]), headers=headers).content.decode()


def ticked(page: str) -> list[str]:
    return re.findall(
        r'<a class="fw-medium text-reset" href="[^"]*">([^<]*)</a><span class="visually-hidden">\(done\)', page
    )


def test_home_shows_what_is_running_how_far_it_is_and_what_it_waits_for(
    alice: User, project: Project, as_user: As
) -> None:
    data = job_of(project, title="Demo data", done=30, total=120, line="kept 30 of 120", seconds_left=95)
    job_of(project, State.QUEUED, title="Its run", after=data)
    page = as_user(alice).get(project.get_absolute_url()).content.decode()
    assert 'aria-valuenow="25"' in page and "kept 30 of 120" in page and "1 min 35 s left" in page
    assert "Waiting for “Demo data”" in page


def test_home_says_when_nothing_runs(alice: User, project: Project, as_user: As) -> None:
    assert "No active jobs" in as_user(alice).get(project.get_absolute_url()).content.decode()


def test_the_fragment_that_home_polls_holds_only_jobs_of_this_project(
    alice: User, project: Project, as_user: As
) -> None:
    second = Project.objects.create(organisation=project.organisation, slug="second", name="Second")
    job_of(project, title="Ours"), job_of(second, title="Elsewhere")
    page = as_user(alice).get(reverse("home-jobs", args=project.path)).content.decode()
    assert "Ours" in page and "Elsewhere" not in page and "<html" not in page


def test_first_steps_tick_themselves_and_are_gone_when_all_are_done(
    alice: User, bob: User, project: Project, as_user: As
) -> None:
    client, home = as_user(alice), project.get_absolute_url()
    assert ticked(client.get(home).content.decode()) == ["Invite a colleague"]
    LiveSession.objects.create(project=project, servers=["banking"], seed=1, fingerprint="x")
    assert ticked(client.get(home).content.decode()) == ["Open a session", "Invite a colleague"]
    run = Run.objects.get(job=run_job(project))
    for page, thing in (("server", "banking"), ("dataset", run.dataset.number), ("run", run.number)):
        assert "First steps" in client.get(home).content.decode()
        assert client.get(reverse(page, args=[*project.path, thing])).status_code == 200
    assert "First steps" not in client.get(home).content.decode()


def test_first_steps_of_an_empty_project_are_undone_after_visits_to_another(
    alice: User, project: Project, as_user: As
) -> None:
    client = as_user(alice)
    run = Run.objects.get(job=run_job(project))
    for page, thing in (("server", "banking"), ("dataset", run.dataset.number), ("run", run.number)):
        assert client.get(reverse(page, args=[*project.path, thing])).status_code == 200
    empty = Project.objects.create(organisation=project.organisation, slug="empty", name="Empty")
    assert ticked(client.get(empty.get_absolute_url()).content.decode()) == []
    assert ticked(client.get(project.get_absolute_url()).content.decode()) == [
        "Explore a server",
        "Browse the data",
        "Watch the run",
    ]
    Run.objects.filter(pk=run.pk).update(deleted_at=timezone.now())
    assert "Watch the run" not in ticked(client.get(project.get_absolute_url()).content.decode())


def test_looking_at_a_server_is_remembered(alice: User, project: Project, as_user: As) -> None:
    client = as_user(alice)
    client.get(reverse("server", args=[*project.path, "banking"]))
    assert "Explore a server" in ticked(client.get(project.get_absolute_url()).content.decode())


def test_the_newest_run_that_has_begun_is_drawn_from_its_points(alice: User, project: Project, as_user: As) -> None:
    job = run_job(project, state=State.RUNNING)
    run_job(project)  # newer, but it has no point yet
    run = Run.objects.get(job=job)
    Point.objects.bulk_create(Point(run=run, step=step, metrics={"reward": step / 10}) for step in (1, 2, 3))
    HeldOut.objects.create(run=run, step=0, metrics={"reward": 0.4})
    event = JobEvent.objects.create(job=job, attempt=1, seq=1, kind="step", at=timezone.now())
    page = as_user(alice).get(project.get_absolute_url()).content.decode()
    chart = json.loads(re.search(r'<script id="newest-curve" type="application/json">(.*?)</script>', page)[1])
    assert (chart["job"], chart["after"]) == (str(job.pk), event.pk)
    assert [each["points"] for each in chart["series"]] == [[[1, 0.1], [2, 0.2], [3, 0.3]], [[0, 0.4]]]


def test_home_makes_no_more_queries_when_there_are_more_jobs(
    alice: User, project: Project, as_user: As, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(12):
        job_of(project, title=f"Run {number}", after=job_of(project, State.DONE, ended_at=timezone.now()))
    client = as_user(alice)
    with django_assert_max_num_queries(22):
        client.get(project.get_absolute_url())


@pytest.mark.parametrize(
    ("state", "advice"),
    [
        (State.QUEUED, "Starts when a worker is free"),
        (State.FAILED, "The end of the log below shows the error"),
        (State.LOST, "Check that the workers run, then resume"),
        (State.STOPPED, "continues from its last checkpoint"),
    ],
)
def test_a_job_that_makes_no_progress_says_what_to_do(
    alice: User, project: Project, as_user: As, state: State, advice: str
) -> None:
    assert advice in page_of(as_user(alice), job_of(project, state))


def test_a_job_that_waits_for_a_failed_one_leads_there(alice: User, project: Project, as_user: As) -> None:
    failed = job_of(project, State.FAILED, title="The data")
    page = page_of(as_user(alice), job_of(project, State.QUEUED, after=failed))
    assert "Resume that job first" in page and reverse("job", args=[*project.path, failed.pk]) in page


def test_the_error_of_a_job_is_rendered_as_text(alice: User, project: Project, as_user: As) -> None:
    page = page_of(as_user(alice), job_of(project, State.FAILED, title="<b>", error="<script>alert(1)</script>"))
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in page and "<b>" not in page


def test_each_attempt_says_where_it_ran_and_how_it_ended(alice: User, project: Project, as_user: As) -> None:
    job = job_of(project, attempt=2)
    at = timezone.now()
    for attempt, seq, host in ((1, 1, "first-host"), (2, 1, "second-host")):
        data = {"host": host, "pid": 1, "device": "cpu"}
        JobEvent.objects.create(job=job, attempt=attempt, seq=seq, kind="started", at=at, data=data)
    rows = re.findall(r"<tr>\s*<td>(\d)</td>.*?state-(\w+).*?(\w+-host)", page_of(as_user(alice), job), re.DOTALL)
    assert rows == [("2", "running", "second-host"), ("1", "lost", "first-host")]


def test_htmx_gets_what_changes_of_the_page(alice: User, project: Project, as_user: As) -> None:
    job = job_of(project)
    assert "<html" in page_of(as_user(alice), job)
    assert "<html" not in page_of(as_user(alice), job, hx_request="true")


@pytest.mark.parametrize("state", [State.RUNNING, State.FAILED])
def test_only_roles_that_may_see_buttons(mary: User, bob: User, project: Project, as_user: As, state: State) -> None:
    job, buttons = job_of(project, state), ("/stop/", "/resume/")
    assert any(button in page_of(as_user(mary), job) for button in buttons)
    assert not any(button in page_of(as_user(bob), job) for button in buttons)


def test_a_run_stops_after_its_step_and_then_now(mary: User, project: Project, as_user: As) -> None:
    client, job = as_user(mary), job_of(project, started_at=timezone.now() - timedelta(minutes=1))
    assert "Stop after this step" in page_of(client, job)
    for level in ("after_step", "now"):
        assert client.post(reverse("job-stop", args=[*project.path, job.pk]), {"level": level}).status_code == 302
        job.refresh_from_db()
        assert (job.state, job.stop) == (State.STOPPING, level)
    assert "/stop/" not in page_of(client, job)


@pytest.mark.parametrize("level", ["", "tomorrow"])
def test_a_stop_that_makes_no_sense_stops_nothing(mary: User, project: Project, as_user: As, level: str) -> None:
    job = job_of(project)
    url = reverse("job-stop", args=[*project.path, job.pk])
    assert "Unknown stop level" in as_user(mary).post(url, {"level": level}, follow=True).content.decode()
    job.refresh_from_db()
    assert (job.state, job.stop) == (State.RUNNING, "")


def test_a_failed_job_is_resumed_once(mary: User, project: Project, as_user: As) -> None:
    client, job = as_user(mary), job_of(project, State.FAILED)
    url = reverse("job-resume", args=[*project.path, job.pk])
    client.post(url)
    assert "there is nothing to resume" in client.post(url, follow=True).content.decode()
    job.refresh_from_db()
    assert (job.state, job.attempt) == (State.QUEUED, 2)


def test_a_button_leads_back_to_its_page_and_never_off_the_site(mary: User, project: Project, as_user: As) -> None:
    client, job = as_user(mary), job_of(project)
    url, own = (reverse(name, args=[*project.path, job.pk]) for name in ("job-stop", "job"))
    assert client.post(url, {"level": "now", "next": "/acme/demo/"}).url == "/acme/demo/"
    for wanted in ("https://elsewhere.org/", "//elsewhere.org", "0", "a:b", "é<script>", "job"):
        assert client.post(url, {"level": "now", "next": wanted}).url == own


def test_the_log_is_displayed_to_its_end(
    alice: User, project: Project, as_user: As, settings: LazySettings, tmp_path: Path
) -> None:
    settings.PROVE_DATA = tmp_path
    job = job_of(project, state=State.DONE)
    url = reverse("job-log", args=[*project.path, job.pk])
    assert b"No log in the job" in as_user(alice).get(url).content
    job.folder.mkdir(parents=True)
    (job.folder / "log.txt").touch()
    Job.objects.filter(pk=job.pk).update(state=State.RUNNING)
    assert b"The log has no lines yet" in as_user(alice).get(url).content
    (job.folder / "log.txt").write_bytes(b"step 1\n\x1b[31m<b>red</b>\x1b[0m \xff\n")
    page = as_user(alice).get(url).content.decode()
    assert "step 1" in page and "&lt;b&gt;red&lt;/b&gt; �" in page


def test_of_a_long_log_only_the_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("".join(f"line {number:020}\n" for number in range(50_000)))
    lines = tail(path).splitlines()
    assert len(lines) == LINES and lines[-1] == f"line {49_999:020}" and set(map(len, lines)) == {25}


def test_a_log_whose_end_is_one_long_line_shows_the_end_of_that_line(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("begun\n" + "." * 300_000)
    assert set(tail(path)) == {"."}


def test_what_the_pages_load_is_there(alice: User, project: Project, as_user: As) -> None:
    page = as_user(alice).get(project.get_absolute_url()).content.decode()
    loaded = set(re.findall(r'(?:src|href)="/static/([^"#]+)', page))
    assert {"vendor/htmx.min.js", "vendor/uPlot.iife.min.js", "prove/live.js"} <= loaded
    assert [path for path in loaded if not finders.find(path)] == []


def test_a_data_set_of_fewer_conversations_than_requested_says_why(alice: User, project: Project, as_user: As) -> None:
    why = "499 of 500 conversations could be made, from 1,500 draws."
    job = job_of(project, kind=Kind.DATASET, state=State.DONE, result={"counts": {"train": {"shortfall": why}}})
    page = as_user(alice).get(reverse("job", args=[*project.path, job.pk])).content.decode()
    assert f"Fewer than requested: {why}" in page
