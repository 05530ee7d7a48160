"""Heartbeats: every program that waits for messages says on the broker, now and then, that it is alive.

The hash `prove:hearts` has a program's name and when it was last heard of, in seconds by the broker's own clock, so
that the clocks of machines need not agree.
"""

from __future__ import annotations

import logging
from typing import Any

from celery.signals import worker_ready
from redis import RedisError, from_url

HEARTS = "prove:hearts"
EVERY = 10.0  # seconds between two beats
FORGET = 24 * 3600.0  # seconds after which a program that is gone is no longer listed

log = logging.getLogger(__name__)


def beat(broker: Any, name: str) -> None:
    """Say that the program of this name is alive."""
    broker.hset(HEARTS, name, now(broker))


def now(broker: Any) -> float:
    seconds, microseconds = broker.time()
    return float(seconds) + float(microseconds) / 1e6


def ages(broker: Any) -> dict[str, float]:
    """Seconds since each program was last heard of, by name; those of long ago are forgotten."""
    present = now(broker)
    found = {name: max(0.0, present - float(at)) for name, at in broker.hgetall(HEARTS).items()}
    if gone := [name for name, age in found.items() if age > FORGET]:
        broker.hdel(HEARTS, *gone)
    return {name: age for name, age in sorted(found.items()) if age <= FORGET}


def of_workers(url: str) -> None:
    """Have every Celery worker of this process beat from its main loop, which goes on while its pool works."""
    broker = from_url(url, decode_responses=True, socket_timeout=2, socket_connect_timeout=2)

    def say(name: str) -> None:
        try:
            beat(broker, name)
        except RedisError as error:
            log.debug("no heartbeat: %s", error)  # the worker itself tells that its broker is away

    @worker_ready.connect(weak=False)  # type: ignore[untyped-decorator]
    def begin(sender: Any, **rest: object) -> None:
        name = str(sender.hostname)
        say(name)
        sender.timer.call_repeatedly(EVERY, say, (name,))
