"""Shard requests of a dataset job: it asks for shards over the broker, and any free worker makes one.

A request names the file to be made. A worker with different code, or without access to the job's folder, logs that and
ignores the request; the job is not notified, because it does not rely on other workers.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import redis
from celery import Celery
from pydantic import ValidationError

from ..core.trajectory import Split, dumps, loads
from ..synthesis.conversation import Recipe
from ..synthesis.shards import SHARDS, Draws, Shard, Task
from .delivery import ONCE, connect, word_of
from .failure import explain

MAKE_SHARD = "training_worker.make_shard"
AGAIN = 30.0  # seconds until a broker that did not answer is tried again
OTHER_CODE = "Not helping with job %s: it runs with different code than this worker. Restart the worker."
OTHER_FOLDER = "Not helping with job %s: %s does not exist here. Set PROVE_DATA to one folder that all workers share."
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Order:
    """Request for a shard of a job's dataset; `name` is the shard's file, `graph` the file of the graph beside it."""

    job: str
    attempt: int
    name: str
    graph: str
    recipe: Recipe
    split: Split
    tasks: tuple[Task, ...]


class Helpers:
    """Requests for shards of one attempt of a job, to any worker that listens to the broker."""

    def __init__(self, app: Celery, job: str, attempt: int):
        self.app, self.job, self.attempt = app, job, attempt
        self.broker, self.silent_until = connect(), 0.0

    def __call__(self, draws: Draws, shard: Shard) -> bool:
        """Request a shard. Return whether the broker took the request."""
        if time.monotonic() < self.silent_until:
            return False
        name, graph = shard.path.name, draws.graph_file(shard.path.parent).name
        order = dumps(Order(self.job, self.attempt, name, graph, draws.recipe, draws.split, shard.tasks))
        try:
            self.broker.ping()  # fails fast, while Celery would wait for long
            self.app.send_task(MAKE_SHARD, kwargs={"order": order}, queue="synthesis", retry=True, retry_policy=ONCE)
        except Exception as error:  # kombu lets through the errors of whichever transport it uses
            log.warning("The broker does not answer (%s); going on without helpers.", error)
            self.silent_until = time.monotonic() + AGAIN
            return False
        return True


def make_shard(data: Path, text: str) -> None:
    """Make the requested shard, unless it is no longer needed."""
    try:
        order = loads(Order, text)
    except ValidationError:
        return say_once(OTHER_CODE, "of another version")
    job = data / "jobs" / order.job
    folder = job / "out" / SHARDS
    if not is_needed(order):
        return
    if not job.is_dir():
        return say_once(OTHER_FOLDER, order.job, job)
    if not folder.is_dir():  # the job is done
        return
    try:
        draws = draws_of(folder / order.graph, dumps(order.recipe), order.split)
    except LookupError:  # the job ended meanwhile
        return
    shard = Shard.from_tasks(draws, order.tasks, folder)
    if shard.path.name != order.name:
        return say_once(OTHER_CODE, order.job)
    try:
        if not shard.path.exists():
            shard.make(draws)
    except FileNotFoundError:  # the job ended meanwhile
        return
    except OSError as error:
        log.warning("Not helping with job %s: %s", order.job, explain(error, folder))


def is_needed(order: Order) -> bool:
    """Return whether the attempt is still running, as far as the broker knows."""
    word = word_of(broker(), order.job)
    return word is None or (word.attempt == order.attempt and not word.stop)


@cache
def broker() -> redis.Redis:
    return connect()


@lru_cache(maxsize=1)
def draws_of(graph: Path, recipe: str, split: Split) -> Draws:
    """Load the draws, cached from one shard to the next. Raises LookupError if the graph is missing."""
    return Draws.load(graph, loads(Recipe, recipe), split)


@cache
def say_once(message: str, *about: object) -> None:
    log.warning(message, *about)
