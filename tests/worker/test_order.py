"""A real worker starts the job whose turn it is, whichever message it received."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from training_worker.worker import job_queue

from .conftest import TINY, Web

WRONG = {"colour": "red"}  # refused at once, so that nothing takes long


@pytest.fixture
def busy(running_worker: Web) -> Iterator[str]:
    """A job that the worker is at, until it is stopped."""
    web = running_worker
    job = web.send("dataset", {**TINY, "train": 100_000})
    web.child(job)
    yield job
    web.say(job, stop="now")


@pytest.mark.long
def test_a_worker_starts_jobs_by_their_places_and_tells_its_name(running_worker: Web, busy: str) -> None:
    web = running_worker
    jobs = [web.send("graph", WRONG) for _ in range(4)]
    turns = [jobs[2], jobs[0], jobs[3], jobs[1]]
    for place, job in enumerate(turns):
        job_queue.put(web.broker, "synthesis", place, {"job": job, "attempt": 1, "kind": "graph", "spec": WRONG})
    web.say(busy, stop="now")
    for job in jobs:
        web.until_ended(job)
    began = sorted(jobs, key=lambda job: web.events[job][0]["at"])
    assert began == turns
    assert all(web.events_of(job, "started")[0]["worker"].startswith("celery@") for job in jobs)


def test_what_was_stopped_before_its_turn_is_passed_over(running_worker: Web, busy: str) -> None:
    web = running_worker
    stopped, wanted = web.announce(str(uuid.uuid4())), web.announce(str(uuid.uuid4()))
    for place, job in enumerate((stopped, wanted)):
        job_queue.put(web.broker, "synthesis", place, {"job": job, "attempt": 1, "kind": "graph", "spec": WRONG})
    web.broker.hset(f"prove:job:{stopped}", "attempt", 2)
    web.message(stopped, "graph", WRONG)
    web.say(busy, stop="now")
    assert web.until_ended(wanted)["state"] == "failed"
    assert web.events[stopped] == []
