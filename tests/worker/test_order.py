"""Which job a real worker starts: the one whose turn it is, whatever message it was handed."""

from __future__ import annotations

from training_worker import waiting

from .conftest import Web, Workers

WRONG = {"colour": "red"}  # refused at once, so that nothing takes long


def test_a_worker_starts_jobs_by_their_places_and_tells_its_name(web: Web, worker: Workers) -> None:
    jobs = [web.send("graph", WRONG) for _ in range(4)]
    turns = [jobs[2], jobs[0], jobs[3], jobs[1]]
    for place, job in enumerate(turns):
        waiting.put(web.broker, "synthesis", place, {"job": job, "attempt": 1, "kind": "graph", "spec": WRONG})
    worker()
    for job in jobs:
        web.until_ended(job)
    began = sorted(jobs, key=lambda job: web.events[job][0]["at"])
    assert began == turns
    assert all(web.told(job, "started")[0]["worker"].startswith("celery@") for job in jobs)


def test_what_was_stopped_before_its_turn_is_passed_over(web: Web, worker: Workers) -> None:
    stopped, wanted = web.send("graph", WRONG), web.send("graph", WRONG)
    for place, job in enumerate((stopped, wanted)):
        waiting.put(web.broker, "synthesis", place, {"job": job, "attempt": 1, "kind": "graph", "spec": WRONG})
    web.broker.hset(f"prove:job:{stopped}", "attempt", 2)
    web.broker.delete("synthesis")
    web.message(stopped, "graph", WRONG)
    worker()
    assert web.until_ended(wanted)["state"] == "failed"
    assert web.events[stopped] == []
