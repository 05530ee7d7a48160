"""The life of a job: launched, waiting its turn, asked to stop, resumed, lost and found."""

from datetime import timedelta

import pytest
import redis
from django.conf import settings
from django.utils import timezone

from prove_web.accounts.models import Project
from prove_web.live import messages
from prove_web.live.jobs import NotNow, enqueue, request_stop, resume
from prove_web.live.models import Job, Kind, State, StopLevel
from prove_web.live.reconcile import reconcile
from prove_web.live.record import record

from .story import ended, event, run_job, story

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]


@pytest.fixture(autouse=True)
def empty_queues(broker: str) -> None:
    messages.broker().flushdb()


def queued(queue: str) -> int:
    return int(messages.broker().llen(queue))


def told(job: Job) -> dict[str, str]:
    return dict(messages.broker().hgetall(f"prove:job:{job.id}"))


def at_work(job: Job, seconds_ago: float = 0) -> Job:
    record(str(job.id), job.attempt, story(0, 1))
    job.refresh_from_db()
    job.state, job.beat_at = State.RUNNING, timezone.now() - timedelta(seconds=seconds_ago)
    job.save()
    return job


def test_a_launched_job_is_sent_to_its_own_queue(project: Project) -> None:
    job = run_job(project)
    enqueue(job)
    job.refresh_from_db()
    assert job.sent_at is not None
    assert queued("training") == 1 and queued("synthesis") == 0
    assert told(job) == {"attempt": "1", "seq": "0", "stop": ""}


def test_a_job_waits_for_the_one_it_comes_after(project: Project) -> None:
    first = Job.objects.create(project=project, kind=Kind.GRAPH, title="Graph")
    second = run_job(project, after=first)
    enqueue(second)
    assert queued("training") == 0
    record(str(first.id), 1, [event(1, "started", host="here", pid=1), ended(2)])
    assert queued("training") == 1


def test_a_queued_job_stops_at_once(project: Project) -> None:
    assert request_stop(run_job(project), StopLevel.AFTER_STEP).state == State.STOPPED


def test_two_browsers_stopping_one_run_stop_it_once(project: Project) -> None:
    job = at_work(run_job(project))
    for _ in range(2):
        job = request_stop(job, StopLevel.AFTER_STEP)
    assert job.state == State.STOPPING and told(job)["stop"] == "after_step"
    assert request_stop(job, StopLevel.NOW).stop == StopLevel.NOW
    assert request_stop(job, StopLevel.AFTER_STEP).stop == StopLevel.NOW, "it cannot be taken back"


def test_a_stop_is_remembered_until_the_worker_has_stopped(project: Project) -> None:
    job = request_stop(at_work(run_job(project)), StopLevel.AFTER_STEP)
    record(str(job.id), 1, [event(4, "progress", done=1, total=2, line="training", seconds_left=1)])
    job.refresh_from_db()
    assert job.state == State.STOPPING
    record(str(job.id), 1, [ended(5, "stopped")])
    job.refresh_from_db()
    assert job.state == State.STOPPED


def test_a_stopped_job_is_resumed_as_its_next_attempt(project: Project) -> None:
    job = resume(request_stop(run_job(project), StopLevel.NOW))
    assert (job.attempt, job.state, job.stop) == (2, State.QUEUED, "")
    assert told(job)["attempt"] == "2" and queued("training") == 1


@pytest.mark.parametrize("state", [State.QUEUED, State.RUNNING, State.STOPPING, State.DONE])
def test_there_is_nothing_to_resume_while_a_job_works_or_is_done(project: Project, state: State) -> None:
    with pytest.raises(NotNow, match="nothing to resume"):
        resume(run_job(project, state=state))


def test_a_job_that_falls_silent_is_lost_and_tried_again(project: Project) -> None:
    job = at_work(run_job(project), settings.LOST_AFTER_SECONDS + 1)
    reconcile()
    job.refresh_from_db()
    assert (job.attempt, job.state) == (2, State.QUEUED)
    assert queued("training") == 1


def test_a_job_that_beats_is_left_alone(project: Project) -> None:
    job = at_work(run_job(project), 1)
    reconcile()
    job.refresh_from_db()
    assert (job.attempt, job.state) == (1, State.RUNNING)


def test_a_job_that_falls_silent_while_stopping_has_stopped(project: Project) -> None:
    job = request_stop(at_work(run_job(project), settings.LOST_AFTER_SECONDS + 1), StopLevel.NOW)
    reconcile()
    job.refresh_from_db()
    assert job.state == State.STOPPED


def test_what_a_broker_forgot_is_said_again(project: Project) -> None:
    waiting, working = run_job(project), at_work(run_job(project))
    enqueue(waiting)
    messages.broker().flushdb()
    Job.objects.filter(pk=waiting.pk).update(sent_at=timezone.now() - timedelta(minutes=1))
    reconcile()
    assert told(working)["seq"] == "3"
    assert queued("training") == 0, "it is not known to be lost while its queue is busy"
    record(str(working.id), 1, [ended(4)])
    reconcile()
    assert queued("training") == 1


def test_without_a_broker_a_launch_waits_for_one(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = redis.from_url("unix:///nowhere/valkey.sock", decode_responses=True)
    job = run_job(project)
    with monkeypatch.context() as away:
        away.setattr(messages, "broker", lambda: nowhere)
        away.setattr(messages.app, "send_task", lambda *args, **rest: nowhere.ping())
        enqueue(job)
        job.refresh_from_db()
        assert job.sent_at is None and job.state == State.QUEUED
    reconcile()
    assert queued("training") == 1
