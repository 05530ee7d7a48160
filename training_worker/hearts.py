"""Heartbeats: every program that waits for messages says on the broker, now and then, that it is alive.

The hash `prove:hearts` has a program's name and when it was last heard of, in seconds by the broker's own clock, so
that the clocks of machines need not agree. The hash `prove:workers` has what a worker tells of itself (see facts.py),
as JSON; a program that does no jobs has nothing to tell.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from functools import cache
from typing import Any

from celery.signals import worker_ready, worker_shutdown
from redis import RedisError, from_url

HEARTS, WORKERS = "prove:hearts", "prove:workers"
EVERY = 10.0  # seconds between two beats
FORGET = 24 * 3600.0  # seconds after which a program that is gone is no longer listed

log = logging.getLogger(__name__)


def beat(broker: Any, name: str, told: Mapping[str, Any] | None = None) -> None:
    """Say that the program of this name is alive, and what it tells of itself."""
    broker.hset(HEARTS, name, now(broker))
    if told:
        broker.hset(WORKERS, name, json.dumps(told))


def forget(broker: Any, *names: str) -> None:
    """Programs that have said goodbye, or are long gone, are no longer listed."""
    broker.hdel(HEARTS, *names)
    broker.hdel(WORKERS, *names)


def now(broker: Any) -> float:
    seconds, microseconds = broker.time()
    return float(seconds) + float(microseconds) / 1e6


def ages(broker: Any) -> dict[str, float]:
    """Seconds since each program was last heard of, by name; those of long ago are forgotten."""
    present = now(broker)
    found = {name: max(0.0, present - float(at)) for name, at in broker.hgetall(HEARTS).items()}
    if gone := [name for name, age in found.items() if age > FORGET]:
        forget(broker, *gone)
    return {name: age for name, age in sorted(found.items()) if age <= FORGET}


def told(broker: Any) -> dict[str, dict[str, Any]]:
    """What each worker told of itself, by name; what is not to be read is left out."""
    found = {}
    for name, text in broker.hgetall(WORKERS).items():
        try:
            said = json.loads(text)
        except ValueError:
            continue
        if isinstance(said, dict):
            found[name] = said
    return found


def of_workers(url: str, only: str = "") -> None:
    """Have a Celery worker of this process beat from its main loop, which goes on while its pool works.

    `only` names a queue: who does not serve it does no jobs, and has nothing to tell.
    """
    from . import facts  # what it takes to know them is not for the web, which only listens

    @cache
    def broker() -> Any:
        return from_url(url, decode_responses=True, socket_timeout=2, socket_connect_timeout=2)

    def say(name: str, known: Mapping[str, Any]) -> None:
        try:
            beat(broker(), name, {**known, **facts.load()})
        except RedisError as error:
            log.debug("no heartbeat: %s", error)  # the worker itself tells that its broker is away

    @worker_ready.connect(weak=False)  # type: ignore[untyped-decorator]
    def begin(sender: Any, **rest: object) -> None:
        name, queues = str(sender.hostname), sorted(sender.app.amqp.queues.consume_from)
        if only and only not in queues:
            return
        known = facts.machine(queues, int(sender.controller.concurrency))
        say(name, known)
        sender.timer.call_repeatedly(EVERY, say, (name, known))

    @worker_shutdown.connect(weak=False)  # type: ignore[untyped-decorator]
    def end(sender: Any, **rest: object) -> None:
        try:
            forget(broker(), str(sender.hostname))
        except RedisError as error:
            log.debug("no goodbye: %s", error)
