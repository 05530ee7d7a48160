"""Heartbeats on the broker, from every program that waits for messages.

The hash `prove:heartbeats` has the time of each program's last heartbeat by name, in seconds of the broker's own clock,
so that the clocks of machines need not agree. The hash `prove:workers` has each worker's info as JSON (worker_info.py).
The set `prove:draining` has the names of workers that take no more jobs, as the site last sent them, and "" once it has
sent them. The list `prove:loads:<name>` has a worker's load, a sample per minute over the last hour, newest first.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from statistics import fmean
from typing import Any

from celery.signals import worker_ready, worker_shutdown
from redis import RedisError, from_url

HEARTBEATS, WORKERS, DRAINING = "prove:heartbeats", "prove:workers", "prove:draining"
SAID = ""  # a member of the draining set, once the site has sent it
MINUTE, SAMPLES = 60, 60  # seconds between two samples of a worker's load, and how many are stored
EVERY = 10.0  # seconds between two beats
HEED = 2.0  # seconds between two checks whether a worker is to take no more jobs
FORGET = 24 * 3600.0  # seconds after its last heartbeat until a program is no longer listed

log = logging.getLogger(__name__)


def beat(broker: Any, name: str, facts: Mapping[str, Any] | None = None) -> None:
    """Record a heartbeat of the program of this name, and its info."""
    broker.hset(HEARTBEATS, name, get_broker_time(broker))
    if facts:
        broker.hset(WORKERS, name, json.dumps(facts))
        sample(broker, name, facts)


def sample(broker: Any, name: str, facts: Mapping[str, Any]) -> None:
    """Store how busy a worker is, once a minute: the mean of its GPUs, or of its cores if it has none."""
    shares = facts.get("gpu") or [facts.get("cpu")]
    if None not in shares and broker.set(f"prove:sampled:{name}", 1, nx=True, ex=MINUTE):
        key = loads_key(name)
        broker.lpush(key, json.dumps([round(get_broker_time(broker)), round(fmean(shares), 3)]))
        broker.ltrim(key, 0, SAMPLES - 1)
        broker.expire(key, MINUTE * SAMPLES)


def loads(broker: Any, name: str) -> list[tuple[float, float]]:
    """Return how busy a worker was in the last hour, oldest first: seconds ago, and a share of 0 to 1."""
    present = get_broker_time(broker)
    found = [json.loads(text) for text in broker.lrange(loads_key(name), 0, -1)]
    return [(age, share) for at, share in reversed(found) if (age := present - at) < MINUTE * SAMPLES]


def loads_key(name: str) -> str:
    return f"prove:loads:{name}"


def say_draining(broker: Any, names: Collection[str]) -> None:
    """Make exactly these workers finish their current jobs and take no more."""
    with broker.pipeline() as said:
        said.delete(DRAINING).sadd(DRAINING, SAID, *names).execute()


def read_draining_workers(broker: Any) -> set[str] | None:
    """Return the names of draining workers; None if the site has not sent any, as after the broker lost its memory."""
    found = set(broker.smembers(DRAINING))
    return found - {SAID} if SAID in found else None


def forget(broker: Any, *names: str) -> None:
    """Remove programs that signed off, or stopped long ago, from the list."""
    broker.hdel(HEARTBEATS, *names)
    broker.hdel(WORKERS, *names)


def get_broker_time(broker: Any) -> float:
    seconds, microseconds = broker.time()
    return float(seconds) + float(microseconds) / 1e6


def ages(broker: Any) -> dict[str, float]:
    """Return the seconds since each program's last heartbeat, by name; very old ones are removed."""
    present = get_broker_time(broker)
    found = {name: max(0.0, present - float(at)) for name, at in broker.hgetall(HEARTBEATS).items()}
    if gone := [name for name, age in found.items() if age > FORGET]:
        forget(broker, *gone)
    return {name: age for name, age in sorted(found.items()) if age <= FORGET}


def read_worker_info(broker: Any) -> dict[str, dict[str, Any]]:
    """Return each worker's info by name; unreadable entries are left out."""
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
    """Make a Celery worker of this process send heartbeats from its main loop, which runs while its pool works.

    There it also checks whether it is to take no more jobs, or to take some again. `only` names a queue: a worker that
    does not serve it does no jobs and sends nothing.
    """
    from . import worker_info  # imported here, since the web side only listens and does not need it

    @cache
    def broker() -> Any:
        return from_url(url, decode_responses=True, socket_timeout=2, socket_connect_timeout=2)

    def send_heartbeat(name: str, known: Mapping[str, Any]) -> None:
        try:
            beat(broker(), name, {**known, **worker_info.load()})
        except RedisError as error:
            log.debug("no heartbeat: %s", error)  # the worker itself reports an unreachable broker

    def follow_drain_requests(consumer: Any, name: str, queues: Sequence[str], known: dict[str, Any]) -> None:
        try:
            found = read_draining_workers(broker())
        except RedisError:
            return
        if found is not None and (drains := name in found) != known["drained"]:
            for queue in queues:
                (consumer.cancel_task_queue if drains else consumer.add_task_queue)(queue)
            known["drained"] = drains
            send_heartbeat(name, known)

    @worker_ready.connect(weak=False)  # type: ignore[untyped-decorator]
    def begin(sender: Any, **rest: object) -> None:
        name, queues = str(sender.hostname), sorted(sender.app.amqp.queues.consume_from)
        if only and only not in queues:
            return
        known = {**worker_info.machine(queues, int(sender.controller.concurrency)), "drained": False}
        follow_drain_requests(sender, name, queues, known)  # before it takes its first job
        send_heartbeat(name, known)
        sender.timer.call_repeatedly(EVERY, send_heartbeat, (name, known))
        sender.timer.call_repeatedly(HEED, follow_drain_requests, (sender, name, queues, known))

    @worker_shutdown.connect(weak=False)  # type: ignore[untyped-decorator]
    def end(sender: Any, **rest: object) -> None:
        try:
            forget(broker(), str(sender.hostname))
        except RedisError as error:
            log.debug("could not sign off: %s", error)
