"""The life of a job as users see it: launched, waiting, stopping, resumed."""

from collections.abc import Iterator
from contextlib import suppress

import pytest
import redis
from django.db import transaction

from prove_web.accounts.models import Project
from prove_web.live import message_broker
from prove_web.live.ingest import record
from prove_web.live.jobs import NotNow, enqueue, request_stop, resume
from prove_web.live.models import Job, Kind, State, StopLevel

from .story import ended, event, run_job, story

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]


def queued(queue: str) -> int:
    return int(message_broker.broker().llen(queue))


def broker_state(job: Job) -> dict[str, str]:
    return dict(message_broker.broker().hgetall(f"prove:job:{job.id}"))


def at_work(job: Job) -> Job:
    record(str(job.id), job.attempt, story(0, 1))
    job.refresh_from_db()
    return job


def test_a_launched_job_is_sent_to_its_own_queue(project: Project) -> None:
    job = run_job(project)
    enqueue(job)
    job.refresh_from_db()
    assert job.sent_at is not None
    assert queued("training") == 1 and queued("synthesis") == 0
    assert broker_state(job) == {"attempt": "1", "seq": "0", "stop": ""}


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
    assert job.state == State.STOPPING and broker_state(job)["stop"] == "after_step"
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
    assert broker_state(job)["attempt"] == "2" and queued("training") == 1


@pytest.mark.parametrize("state", [State.QUEUED, State.RUNNING, State.STOPPING, State.DONE])
def test_there_is_nothing_to_resume_while_a_job_works_or_is_done(project: Project, state: State) -> None:
    with pytest.raises(NotNow, match="nothing to resume"):
        resume(run_job(project, state=state))


def test_a_job_that_was_stopped_in_the_queue_is_dropped_by_the_worker_that_takes_it_up(project: Project) -> None:
    job = run_job(project)
    enqueue(job)
    request_stop(job, StopLevel.NOW)
    assert int(broker_state(job)["attempt"]) > 1
    message_broker.broker().flushdb()
    record(str(job.id), 1, story(0, 1))
    assert int(broker_state(job)["attempt"]) > 1, "it is said again when the broker forgot it"
    assert not job.events.exists()


def test_a_launch_that_is_taken_back_is_not_sent(project: Project) -> None:
    with suppress(ZeroDivisionError), transaction.atomic():
        enqueue(run_job(project))
        raise ZeroDivisionError
    assert queued("training") == 0


@pytest.fixture
def no_broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as away:
        away.setattr(message_broker, "broker", lambda: redis.from_url("unix:///nowhere/valkey.sock"))
        away.setattr(message_broker.app, "send_task", unsendable)
        yield


def unsendable(*args: object, **rest: object) -> None:
    raise AssertionError("without a broker, Celery keeps a page waiting for seconds")


def test_without_a_broker_a_launch_and_a_stop_are_stored(project: Project, no_broker: None) -> None:
    job, working = run_job(project), run_job(project, state=State.RUNNING)
    enqueue(job)
    request_stop(working, StopLevel.AFTER_STEP)
    job.refresh_from_db()
    working.refresh_from_db()
    assert (job.state, job.sent_at) == (State.QUEUED, None)
    assert (working.state, working.stop) == (State.STOPPING, StopLevel.AFTER_STEP)
