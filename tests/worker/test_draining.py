"""A real worker that drains leaves jobs in the queue until it may take them again."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.waiting import eventually
from training_worker.worker import heartbeat

from .conftest import Web, Workers

WRONG = {"colour": "red"}  # refused at once, so that nothing takes long


@pytest.fixture
def drainable(running_worker: Web) -> Iterator[Web]:
    """The worker of all tests, which takes jobs again after this one."""
    yield running_worker
    heartbeat.say_draining(running_worker.broker, [])


@pytest.mark.long
def test_a_worker_that_drains_leaves_what_comes_until_it_is_let_go_on(drainable: Web) -> None:
    web = drainable
    [name] = eventually(lambda: web.broker.hkeys(heartbeat.WORKERS), "a heartbeat")

    def drained() -> bool:
        return bool(json.loads(web.broker.hget(heartbeat.WORKERS, name) or "{}")["drained"])

    before = web.send("graph", WRONG)
    web.until_ended(before)
    heartbeat.say_draining(web.broker, [name])
    eventually(drained, "the worker to heed it")
    job = web.send("graph", WRONG)
    at = web.broker.hget(heartbeat.HEARTBEATS, name)
    eventually(lambda: web.broker.hget(heartbeat.HEARTBEATS, name) != at, "its next heartbeat")
    assert web.events[job] == [] and web.broker.llen("synthesis") == 1
    heartbeat.say_draining(web.broker, [])
    assert web.until_ended(job)["state"] == "failed"
    assert not drained()


@pytest.mark.long
def test_a_worker_that_drains_and_is_restarted_takes_nothing_even_if_the_broker_forgot(
    web: Web, worker: Workers
) -> None:
    first = worker()
    [name] = eventually(lambda: web.broker.hkeys(heartbeat.WORKERS), "a heartbeat")
    heartbeat.say_draining(web.broker, [name])
    first.kill()
    first.wait()
    web.broker.hdel(heartbeat.HEARTBEATS, name)
    job = web.send("graph", WRONG)
    worker()
    at = eventually(lambda: web.broker.hget(heartbeat.HEARTBEATS, name), "its first heartbeat")
    web.broker.delete(heartbeat.DRAINING)
    eventually(lambda: web.broker.hget(heartbeat.HEARTBEATS, name) != at, "its next heartbeat")
    assert web.events[job] == [] and web.broker.llen("synthesis") == 1
    heartbeat.say_draining(web.broker, [])
    assert web.until_ended(job)["state"] == "failed"
