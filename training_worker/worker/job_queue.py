"""The order of waiting jobs: one sorted set on the broker for each queue, written by the web side.

A message in a queue is a ticket to start one job; which one is decided when a worker is free to start it. So a job that
is moved up goes first, whenever its message arrived. The database is the source of truth for the order; without the
sorted set a worker does the job that its message names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from redis import RedisError

Order = dict[str, Any]  # job and attempt; for a worker of the engine also kind and spec


def places(queue: str) -> str:
    return f"prove:waiting:{queue}"


def orders(queue: str) -> str:
    return f"prove:orders:{queue}"


def member(job: object, attempt: int) -> str:
    return f"{job}:{attempt}"


def put(broker: Any, queue: str, place: int, order: Order) -> None:
    """Queue an attempt at its place; the smallest goes first. Repeating the call changes nothing."""
    name = member(order["job"], order["attempt"])
    with broker.pipeline() as pipe:
        pipe.hset(orders(queue), name, json.dumps(order))
        pipe.zadd(places(queue), {name: place})
        pipe.execute()


def move(broker: Any, queue: str, moved: Mapping[str, int]) -> None:
    """Give members other places; one that was taken in the meantime stays taken."""
    if moved:
        broker.zadd(places(queue), dict(moved), xx=True)


def drop(broker: Any, queue: str, name: str) -> None:
    with broker.pipeline() as pipe:
        pipe.zrem(places(queue), name)
        pipe.hdel(orders(queue), name)
        pipe.execute()


def take(broker: Any, queue: str) -> Order | None:
    """Remove and return the first job of a queue; None if it is empty."""
    while first := broker.zpopmin(places(queue)):
        name = first[0][0]
        order = broker.hget(orders(queue), name)
        broker.hdel(orders(queue), name)
        if order is not None:
            return dict(json.loads(order))
    return None


def in_turn(broker: Any, queue: str, named: Order) -> Iterator[Order]:
    """Yield the jobs that the holder of a ticket may start, in order, and at last the one that the ticket names."""
    try:
        while order := take(broker, queue):
            yield order
    except RedisError:  # the ticket's own job can run without a broker
        pass
    yield named
