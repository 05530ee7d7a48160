"""Delivery of an attempt's events to the site until they are stored, and of the site's control records to the attempt.

The broker holds one hash per job (`prove:job:<id>`), written by the site: the current attempt, the last event of it
that was stored, and whether it should stop. No event is lost if the broker or the writer dies.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import redis
from celery import Celery
from redis.backoff import NoBackoff
from redis.retry import Retry

from ..core.broker import broker_url
from .spool import SpoolReader

RECORD = "prove_web.live.ingest"
EVERY = 1.0  # seconds between two messages
BEAT = 5.0  # seconds between two heartbeats
AGAIN = 10.0  # seconds until events that were not stored are sent again
MOST = 200  # events in one message
CLAIMED = 86_400  # seconds that a claim is remembered
ONCE = {"max_retries": 1, "interval_start": 0, "interval_step": 0}  # for a stale connection after the broker restarted
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Word:
    """Control record of a job from the site: the current attempt, the last stored event, and whether to stop."""

    attempt: int
    seq: int
    stop: str


def connect() -> redis.Redis:
    return redis.from_url(
        broker_url(), decode_responses=True, socket_timeout=5, socket_connect_timeout=5, retry=Retry(NoBackoff(), 1)
    )


def word_of(broker: redis.Redis, job: str) -> Word | None:
    """Return the control record of a job; None if the broker does not answer or does not know the job."""
    try:
        found: dict[str, str] = broker.hgetall(f"prove:job:{job}")  # type: ignore[assignment]
    except redis.RedisError:
        return None
    if not found:
        return None
    return Word(int(found.get("attempt", 0)), int(found.get("seq", 0)), found.get("stop", ""))


def claim_key(job: str, attempt: int) -> str:
    """Return the broker's key for the name of the process that runs an attempt."""
    return f"prove:claim:{job}:{attempt}"


class Delivery:
    """Channel between one attempt and the site. A broker that does not answer is retried forever."""

    def __init__(self, app: Celery, job: str, attempt: int, reader: SpoolReader):
        self.app, self.job, self.attempt, self.reader = app, job, attempt, reader
        self.broker = connect()
        self.sent = self.stored = 0  # the last event sent, and the last known to be stored
        self.sent_at = -BEAT
        self.advanced_at = time.monotonic()
        self.silent = False

    def claim(self, who: str) -> str:
        """Claim the attempt. Return who holds it, which is `who` if the broker does not answer."""
        key = claim_key(self.job, self.attempt)
        try:
            return who if self.broker.set(key, who, nx=True, ex=CLAIMED) else str(self.broker.get(key) or who)
        except redis.RedisError:
            return who

    def word(self) -> Word | None:
        """Return the job's control record; None if the broker does not answer or does not know the job."""
        word = word_of(self.broker, self.job)
        if word and word.attempt == self.attempt and word.seq > self.stored:
            self.stored, self.advanced_at = word.seq, time.monotonic()
        return word

    def is_superseded(self) -> bool:
        word = self.word()
        return word is not None and word.attempt > self.attempt

    def pass_on(self) -> None:
        """Send new events, events that were sent long ago but are not stored, and a heartbeat."""
        events, at = self.reader.read(), time.monotonic()
        self.sent = max(self.sent, self.stored)
        if self.stored == self.sent:
            self.advanced_at = at
        elif at - self.advanced_at > AGAIN:
            self.sent, self.advanced_at = self.stored, at
        fresh, since = events[self.sent : self.sent + MOST], at - self.sent_at
        if since >= (EVERY if fresh else BEAT):
            self.send(fresh)

    def send(self, events: list[dict[str, Any]]) -> None:
        self.sent_at = time.monotonic()
        message = {"job": self.job, "attempt": self.attempt, "events": events, "beat": True}
        try:
            self.app.send_task(RECORD, kwargs=message, queue="events", retry=True, retry_policy=ONCE)
        except Exception as error:  # kombu passes on the errors of its transport
            if not self.silent:
                log.warning("Job %s: the broker does not answer (%s); events wait on disk.", self.job, error)
            self.silent = True
            return
        self.silent = False
        self.sent += len(events)

    def finish(self, enough: Callable[[], bool]) -> bool:
        """Deliver until the last event is stored or a later attempt takes over. Return False if `enough` came first."""
        last = len(self.reader.read())
        while not enough():
            self.pass_on()
            word = self.word()
            if word and (word.attempt > self.attempt or (word.attempt == self.attempt and word.seq >= last)):
                return True
            time.sleep(EVERY / 2)
        return False
