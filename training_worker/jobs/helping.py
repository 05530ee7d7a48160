"""Helping with a data set: its job asks for shards over the broker, and any worker that is free makes one.

What is asked names the file that is to come of it. A worker with other code, or one that does not see the job's folder,
says so and leaves it; the job is not told, since it relies on nobody.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import networkx as nx
import redis
from celery import Celery
from pydantic import ValidationError

from ..prove.graph import graph_path, part, read
from ..prove.synthesis.conversation import Recipe
from ..prove.synthesis.shards import SHARDS, Draws, Shard, Task
from ..prove.trajectory import Split, dumps, loads
from .delivery import ONCE, connect, word_of
from .failure import explain

MAKE_SHARD = "training_worker.make_shard"
AGAIN = 30.0  # seconds until a broker that did not answer is tried again
OTHER_CODE = "Not helping with job %s: it is done with other code than this worker has. Start the worker anew."
OTHER_FOLDER = "Not helping with job %s: %s is not here. Set PROVE_DATA to one folder that all workers share."
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Order:
    """A shard of a job's data set that somebody may make; `name` is its file's."""

    job: str
    attempt: int
    name: str
    servers: tuple[str, ...]
    recipe: Recipe
    split: Split
    tasks: tuple[Task, ...]


class Helpers:
    """Whoever listens to the broker: asked for shards of one attempt at a job about these servers."""

    def __init__(self, app: Celery, job: str, attempt: int, servers: tuple[str, ...]):
        self.app, self.job, self.attempt, self.servers = app, job, attempt, servers
        self.broker, self.silent_until = connect(), 0.0

    def __call__(self, draws: Draws, shard: Shard) -> bool:
        """Whether the broker took it."""
        if time.monotonic() < self.silent_until:
            return False
        name, recipe, split = shard.path.name, draws.recipe, draws.split
        order = dumps(Order(self.job, self.attempt, name, self.servers, recipe, split, shard.tasks))
        try:
            self.broker.ping()  # before Celery does, which would wait for long
            self.app.send_task(MAKE_SHARD, kwargs={"order": order}, queue="synthesis", retry=True, retry_policy=ONCE)
        except Exception as error:  # kombu lets through the errors of whichever transport it uses
            log.warning("The broker does not answer (%s); going on without helpers.", error)
            self.silent_until = time.monotonic() + AGAIN
            return False
        return True


def make_shard(data: Path, text: str) -> None:
    """Make what is asked for, unless nobody needs it any more."""
    try:
        order = loads(Order, text)
    except ValidationError:
        return say_once(OTHER_CODE, "of another version")
    job = data / "jobs" / order.job
    folder = job / "out" / SHARDS
    if not needed(order):
        return
    if not job.is_dir():
        return say_once(OTHER_FOLDER, order.job, job)
    if not folder.is_dir():  # it is done
        return
    try:
        draws = draws_of(graph_path(data / "graph"), order.servers, order.recipe, order.split)
        shard = Shard.of(draws, order.tasks, folder)
    except LookupError:
        return say_once(OTHER_CODE, order.job)
    if shard.path.name != order.name:
        return say_once(OTHER_CODE, order.job)
    try:
        if not shard.path.exists():
            shard.make(draws)
    except FileNotFoundError:  # it was done meanwhile
        return
    except OSError as error:
        log.warning("Not helping with job %s: %s", order.job, explain(error, folder))


def needed(order: Order) -> bool:
    """Whether the attempt still goes on, as far as the broker knows."""
    word = word_of(broker(), order.job)
    return word is None or (word.attempt == order.attempt and not word.stop)


@cache
def broker() -> redis.Redis:
    return connect()


@lru_cache(maxsize=2)
def draws_of(graph: Path, servers: tuple[str, ...], recipe: Recipe, split: Split) -> Draws:
    """What a job about these servers draws with. Raises LookupError when there is no graph of them as they are here."""
    return Draws(part(whole(graph), servers), recipe, split)


@lru_cache(maxsize=1)
def whole(graph: Path) -> nx.DiGraph:
    if (found := read(graph)) is None:
        raise LookupError(graph)
    return found


@cache
def say_once(message: str, *about: object) -> None:
    log.warning(message, *about)
