"""Events of workers are stored once, in order, and from the current attempt only."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from prove_web.accounts.models import Organisation, Project
from prove_web.experiments.metric_series import snapshot
from prove_web.experiments.models import HeldOut, Point, Run
from prove_web.experiments.summary_tiles import tiles
from prove_web.live.ingest import record
from prove_web.live.jobs import lose
from prove_web.live.models import Job, JobEvent, State

from .story import ended, event, run_job, step, story

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


def curve(job: Job) -> dict[int, float | None]:
    return {point.step: point.metrics["reward"] for point in Point.objects.filter(run__job=job)}


def tell(job: Job, *events: dict, attempt: int = 1) -> Job:
    record(str(job.id), attempt, events)
    job.refresh_from_db()
    return job


def test_a_job_goes_from_queued_over_starting_and_running_to_done(project: Project) -> None:
    job = run_job(project)
    assert tell(job, event(1, "started", host="here", pid=1)).state == State.STARTING
    working = event(2, "progress", done=1, total=4, line="training", seconds_left=30.0)
    assert tell(job, working).state == State.RUNNING
    assert (job.share, job.line, job.seconds_left) == (0.25, "training", 30.0)
    assert tell(job, ended(3, steps=4)).state == State.DONE
    assert job.result == {"steps": 4} and job.share == 1.0 and job.ended_at is not None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_metric_that_is_no_number_is_a_gap_in_the_curve(project: Project, value: float) -> None:
    job = run_job(project)
    tell(job, step(1, 1, 0.25), step(2, 2, value), step(3, 3, 0.5))
    assert curve(job) == {1: 0.25, 2: None, 3: 0.5}
    run = Run.objects.get(job=job)
    assert json.loads(json.dumps(snapshot(run), allow_nan=False))["points"]["series"] == {
        "reward": {"at": [0, 2], "values": [0.25, 0.5]}
    }
    assert tiles(run)[0].now == 0.5


def test_what_is_no_number_is_found_at_any_depth_and_keeps_nothing_else_from_being_stored(project: Project) -> None:
    slices = [{"slice": "server", "means": {"reward": float("nan"), "coverage": 0.5}}]
    job = run_job(project)
    tell(job, event(1, "held_out", step=0, reward=0.5, slices=slices))
    [stored] = HeldOut.objects.filter(run__job=job)
    assert stored.metrics["slices"] == [{"slice": "server", "means": {"reward": None, "coverage": 0.5}}]


def test_an_event_sent_twice_is_stored_once(project: Project) -> None:
    job = run_job(project)
    tell(job, *story(0, 3))
    tell(job, *story(0, 3))
    assert job.seq == 5 and JobEvent.objects.filter(job=job).count() == 5
    assert sorted(curve(job)) == [1, 2, 3]


def test_nothing_after_a_gap_is_stored_until_the_gap_is_filled(project: Project) -> None:
    job, events = run_job(project), story(0, 3)
    tell(job, *events[:2], *events[3:])
    assert job.seq == 2 and curve(job) == {}
    tell(job, *events[2:])
    assert job.seq == 5 and sorted(curve(job)) == [1, 2, 3]


def test_an_old_attempt_changes_nothing(project: Project) -> None:
    job = run_job(project)
    tell(job, *story(0, 2))
    lose(job, "The worker has not been heard of.")
    job.save()
    assert (job.attempt, job.seq, job.state) == (2, 0, State.QUEUED)
    tell(job, step(5, 3), ended(6), attempt=1)
    assert job.state == State.QUEUED and sorted(curve(job)) == [1, 2]


def test_an_attempt_that_goes_back_to_its_checkpoint_leaves_no_gap_and_no_double_point(project: Project) -> None:
    job = run_job(project)
    tell(job, *story(0, 7), event(10, "held_out", step=4, reward=0.1), event(11, "held_out", step=6, reward=0.2))
    lose(job, "Gone.")
    job.save()
    again = [event(1, "started", host="there", pid=2), event(2, "rewound", step=4)]
    again += [step(2 + i, i, 2.0) for i in range(1, 10)]
    tell(job, *again, attempt=2)
    assert curve(job) == dict.fromkeys(range(1, 10), 2.0)
    assert [line.step for line in HeldOut.objects.filter(run__job=job)] == [4]


def test_a_child_killed_from_outside_is_tried_again_and_given_up_after_three_times(project: Project) -> None:
    job = run_job(project)
    for attempt in (1, 2, 3):
        assert job.state == State.QUEUED and job.attempt == attempt
        tell(job, event(1, "started", host="here", pid=1), ended(2, "lost"), attempt=attempt)
    assert job.state == State.LOST


def test_that_its_worker_was_shut_down_is_no_fault_of_a_job(project: Project) -> None:
    job = run_job(project)
    for attempt in range(1, 6):
        assert (job.state, job.attempt) == (State.QUEUED, attempt)
        tell(job, event(1, "started", host="here", pid=1), ended(2, "interrupted"), attempt=attempt)


def test_a_new_step_makes_up_for_failures(project: Project) -> None:
    job = run_job(project)
    for attempt in range(1, 6):
        tell(job, *story(0, attempt), ended(attempt + 3, "lost"), attempt=attempt)
        assert job.state == State.QUEUED


def test_reporting_the_steps_of_earlier_attempts_again_does_not(project: Project) -> None:
    job = run_job(project)
    for attempt in range(1, 4):
        assert job.state == State.QUEUED
        tell(job, *story(0, 3), ended(6, "lost"), attempt=attempt)
    assert job.state == State.LOST and sorted(curve(job)) == [1, 2, 3]


def test_a_job_that_is_not_there_is_no_error() -> None:
    assert record("7a3c8a9c-8e4b-4f0e-9a51-0f7d4f2f6a10", 1, []) is None
    assert record("nonsense", 1, []) is None


# The first attempt gets to step 6 and is killed; the second goes on from the checkpoint of step 4, to step 8.
FIRST = [*story(0, 6), event(9, "held_out", step=6, reward=0.6), ended(10, "lost")]
SECOND = [event(1, "started", host="there", pid=2), event(2, "rewound", step=4)]
SECOND += [*(step(2 + i, i, 2.0 * i) for i in range(1, 9)), event(11, "held_out", step=8, reward=0.8), ended(12)]
EVENTS = {1: FIRST, 2: SECOND}
Batch = tuple[int, int, int, bool]  # attempt, first, how many, whether out of order
DELIVERY = st.tuples(st.sampled_from([1, 2]), st.integers(0, 11), st.integers(0, 12), st.booleans())


class Deliveries(TestCase):
    """Batches of two attempts may be cut, mixed, doubled, lost and sent again; the result is the same."""

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(DELIVERY, max_size=20))
    def test_the_end_is_always_the_same(self, batches: list[Batch]) -> None:
        organisation = Organisation.objects.create(slug="acme", name="Acme")
        job = run_job(Project.objects.create(organisation=organisation, slug="demo", name="Demo"))
        for attempt, first, many, turned in batches:
            batch = EVENTS[attempt][first : first + many]
            tell(job, *(reversed(batch) if turned else batch), attempt=attempt)
            assert curve_has_no_gap(job)
        for _ in range(len(FIRST) + len(SECOND)):  # a worker sends again what follows the last stored event
            tell(job, *EVENTS[job.attempt][job.seq : job.seq + 2], attempt=job.attempt)
            assert curve_has_no_gap(job)
        assert (job.state, job.attempt, job.seq, job.failures) == (State.DONE, 2, len(SECOND), 0)
        assert curve(job) == {i: 2.0 * i for i in range(1, 9)}
        assert [line.step for line in HeldOut.objects.filter(run__job=job)] == [8]
        stored = JobEvent.objects.filter(job=job).order_by("id").values_list("attempt", "seq")
        assert list(stored) == [(attempt, e["seq"]) for attempt, events in EVENTS.items() for e in events]


def curve_has_no_gap(job: Job) -> bool:
    """Return whether the curve has no gap, even halfway; the database itself rejects a repeated step."""
    steps = sorted(curve(job))
    return steps == list(range(1, len(steps) + 1))
