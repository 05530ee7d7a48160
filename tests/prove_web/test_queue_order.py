"""Whose turn it is: laws of the order in which jobs start, over random walks of launches, moves, stops and losses."""

from __future__ import annotations

from random import Random

import pytest

from prove_web.accounts.models import Organisation, Project
from prove_web.live import message_broker
from prove_web.live.ingest import record
from prove_web.live.jobs import dispatch, enqueue, request_stop, resume
from prove_web.live.models import Job, Kind, State, StopLevel
from prove_web.live.priority import move, sort_by_priority
from training_worker.worker import job_queue

from .story import event

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]
QUEUE = "synthesis"


def launch(project: Project, priority: int = 0) -> Job:
    job = Job.objects.create(project=project, kind=Kind.GRAPH, title="Graph", priority=priority)
    enqueue(job)
    return job


def free_worker() -> Job | None:
    """Take one message as a free worker and start the next job; return None without a message."""
    message = message_broker.broker().rpop(QUEUE)
    if message is None:
        return None
    for order in job_queue.in_turn(message_broker.broker(), QUEUE, {"job": None, "attempt": 0}):
        if order["job"] is None:
            return free_worker()
        job = Job.objects.get(pk=order["job"])
        if (job.attempt, job.state) == (order["attempt"], State.QUEUED):
            record(str(job.pk), job.attempt, [event(1, "started", host="here", pid=1, worker="synthesis@here")])
            return job
    return None


def started() -> list[Job]:
    """Start every waiting job as one worker does, and return them in that order."""
    found = []
    while job := free_worker():
        found.append(job)
    return found


def second(organisation: Organisation) -> Project:
    return Project.objects.create(organisation=organisation, slug="second", name="Second")


@pytest.mark.parametrize("seed", range(4))
def test_jobs_of_a_project_start_by_priority_and_age_however_their_messages_arrive(project: Project, seed: int) -> None:
    draw = Random(seed)
    jobs = [launch(project, draw.choice([-1, 0, 0, 2])) for _ in range(8)]
    for job in draw.sample(jobs, 4):
        dispatch(job.pk)
    tickets = message_broker.broker().lrange(QUEUE, 0, -1)
    message_broker.broker().delete(QUEUE)
    message_broker.broker().rpush(QUEUE, *draw.sample(tickets, len(tickets)))
    assert started() == sort_by_priority(jobs)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_moved_up_or_down_starts_where_it_was_moved_to(project: Project, seed: int) -> None:
    draw = Random(seed)
    expected = [launch(project) for _ in range(6)]
    for _ in range(10):
        job, to = draw.choice(expected), draw.choice(["up", "down", "first", "last"])
        at = expected.index(job)
        target = {"up": max(0, at - 1), "down": min(5, at + 1), "first": 0, "last": 5}[to]
        expected.insert(target, expected.pop(at))
        assert move(job, to) == target
    assert list(Job.objects.filter_queued()) == expected, "the database says the same"
    assert started() == expected


@pytest.mark.parametrize("seed", range(4))
def test_a_team_that_reorders_its_own_jobs_moves_no_job_of_another(
    project: Project, organisation: Organisation, seed: int
) -> None:
    draw, other = Random(seed), second(organisation)
    jobs = [launch(draw.choice([project, other])) for _ in range(8)]
    ours = [job for job in jobs if job.project == project] or [launch(project)]
    turns = [job.project_id for job in Job.objects.filter_queued()]
    for _ in range(6):
        move(draw.choice(ours), draw.choice(["up", "down", "first", "last"]))
    began = started()
    assert [job.project_id for job in began] == turns
    theirs = [job for job in jobs if job.project == other]
    assert [job for job in began if job.project == other] == theirs


def test_an_old_job_that_waits_for_ever_is_no_way_past_other_teams(
    project: Project, organisation: Organisation
) -> None:
    waits = launch(project)
    other = second(organisation)
    theirs = [launch(other) for _ in range(2)]
    assert move(first := launch(project), "first") == 0
    assert free_worker() == first
    move(again := launch(project), "first")
    assert started() == [*theirs, again, waits], "the place that the first one took is gone"


def test_a_job_that_is_stopped_before_its_turn_is_not_begun(project: Project) -> None:
    jobs = [launch(project) for _ in range(3)]
    request_stop(jobs[0], StopLevel.NOW)
    assert started() == jobs[1:]
    assert (
        message_broker.broker().zcard(job_queue.places(QUEUE))
        == message_broker.broker().hlen(job_queue.orders(QUEUE))
        == 0
    )


def test_who_resumes_waits_like_who_launches(project: Project) -> None:
    jobs = [launch(project) for _ in range(2)]
    request_stop(jobs[0], StopLevel.NOW)
    resume(jobs[0])
    assert started() == [jobs[1], jobs[0]]


def test_a_job_that_waits_for_another_keeps_its_place(project: Project) -> None:
    before = Job.objects.create(project=project, kind=Kind.GRAPH, title="Graph", state=State.RUNNING)
    waits = Job.objects.create(project=project, kind=Kind.GRAPH, title="Graph", after=before)
    enqueue(waits)
    later = launch(project)
    record(str(before.pk), 1, [event(1, "ended", state="done", error="", result={})])
    assert started() == [waits, later]


def test_a_job_that_begins_meanwhile_is_not_put_back_by_a_move(project: Project) -> None:
    jobs = [launch(project) for _ in range(2)]
    assert job_queue.take(message_broker.broker(), QUEUE) == {
        "job": str(jobs[0].pk),
        "attempt": 1,
        "kind": "graph",
        "spec": {},
    }
    move(jobs[0], "last")
    assert message_broker.broker().zrange(job_queue.places(QUEUE), 0, -1) == [job_queue.member(jobs[1].pk, 1)]


def test_priorities_stay_small_however_often_one_moves(project: Project) -> None:
    jobs = [launch(project) for _ in range(3)]
    for turn in range(30):
        move(jobs[turn % 3], "first")
    assert all(abs(job.priority) < len(jobs) for job in Job.objects.all())


def test_a_job_that_no_longer_waits_cannot_be_moved(project: Project) -> None:
    job = launch(project)
    assert free_worker() == job
    assert move(job, "first") == -1
