"""The queue agrees with the database, whatever happens to workers and broker."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from prove_web.accounts.models import Project
from prove_web.live import message_broker, tasks
from prove_web.live.ingest import record
from prove_web.live.jobs import enqueue, request_stop
from prove_web.live.models import Job, Kind, State, StopLevel
from prove_web.live.reconcile import SEND_AGAIN, reconcile
from prove_web.trajectories.live_hooks import LOAD_AGAIN
from prove_web.trajectories.models import Dataset

from .examples import dataset_of, examples
from .story import ended, run_job, story

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]


def queued(queue: str) -> int:
    return int(message_broker.broker().llen(queue))


def at_work(job: Job, silent: float = 0) -> Job:
    """Return a running job whose worker last reported so many seconds ago."""
    record(str(job.id), job.attempt, story(0, 1))
    return changed(job, state=State.RUNNING, beat_at=timezone.now() - timedelta(seconds=silent))


def changed(job: Job, **to: Any) -> Job:
    Job.objects.filter(pk=job.pk).update(**to)
    job.refresh_from_db()
    return job


def after_a_pass(job: Job) -> Job:
    reconcile()
    job.refresh_from_db()
    return job


def test_a_job_that_falls_silent_is_lost_and_tried_again(project: Project) -> None:
    job = after_a_pass(at_work(run_job(project), settings.LOST_AFTER_SECONDS + 1))
    assert (job.attempt, job.state, job.seq) == (2, State.QUEUED, 0)
    assert queued("training") == 1
    assert message_broker.broker().hget(f"prove:job:{job.id}", "attempt") == "2"


def test_a_job_that_beats_is_left_alone(project: Project) -> None:
    job = after_a_pass(at_work(run_job(project), settings.LOST_AFTER_SECONDS / 2))
    assert (job.attempt, job.state) == (1, State.RUNNING)


def test_a_beat_without_events_is_a_sign_of_life(project: Project) -> None:
    job = at_work(run_job(project), settings.LOST_AFTER_SECONDS + 1)
    record(str(job.id), 1, [])
    assert after_a_pass(job).attempt == 1


def test_a_beat_of_an_old_attempt_is_not(project: Project) -> None:
    job = changed(at_work(run_job(project), settings.LOST_AFTER_SECONDS + 1), attempt=2)
    record(str(job.id), 1, [])
    assert after_a_pass(job).attempt == 3


def test_after_three_silent_attempts_without_a_new_step_a_job_is_lost_for_good(project: Project) -> None:
    job = run_job(project)
    for attempt in (1, 2, 3):
        assert job.attempt == attempt
        job = after_a_pass(at_work(job, settings.LOST_AFTER_SECONDS + 1))
    assert (job.attempt, job.state) == (3, State.LOST)
    assert "Resume to try again." in job.error


def test_a_job_that_falls_silent_while_stopping_has_stopped(project: Project) -> None:
    job = at_work(run_job(project), settings.LOST_AFTER_SECONDS + 1)
    assert after_a_pass(request_stop(job, StopLevel.NOW)).state == State.STOPPED


def test_what_a_broker_lost_is_sent_again(project: Project) -> None:
    waiting, working = run_job(project), at_work(run_job(project))
    enqueue(waiting)
    message_broker.broker().flushdb()
    changed(waiting, sent_at=timezone.now() - 2 * SEND_AGAIN)
    reconcile()
    assert message_broker.broker().hget(f"prove:job:{working.id}", "seq") == "3"
    assert queued("training") == 0, "it is not known to be lost while its queue is busy"
    record(str(working.id), 1, [ended(4)])
    reconcile()
    assert queued("training") == 1


def test_a_launch_that_no_broker_took_is_sent_once_there_is_one(project: Project) -> None:
    assert after_a_pass(run_job(project)).sent_at is not None
    reconcile()
    assert queued("training") == 1


def test_a_job_whose_forerunner_failed_is_not_sent(project: Project) -> None:
    first = Job.objects.create(project=project, kind=Kind.GRAPH, title="Graph", state=State.FAILED)
    assert after_a_pass(run_job(project, after=first)).state == State.QUEUED
    assert queued("training") == 0


def test_a_data_set_that_was_made_and_not_loaded_is_loaded(project: Project) -> None:
    made = dataset_of(project, ended_at=timezone.now() - 2 * LOAD_AGAIN)
    dataset_of(project, examples()[:1], ended_at=timezone.now() - 2 * LOAD_AGAIN)
    dataset_of(project, ended_at=timezone.now())
    reconcile()
    assert queued("web") == 1
    assert Dataset.objects.get(pk=made.pk).job.state == State.DONE


def test_one_pass_at_a_time(project: Project) -> None:
    run_job(project)
    with message_broker.broker().lock(tasks.LOCK, timeout=60):
        tasks.reconcile()
        assert queued("training") == 0
    tasks.reconcile()
    assert queued("training") == 1
    assert not message_broker.broker().exists(tasks.LOCK)
