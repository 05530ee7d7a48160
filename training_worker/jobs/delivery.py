"""Carries an attempt's events to the web side until they are known to be stored, and hears what it says.

The broker holds one hash per job (`prove:job:<id>`), written by the web side: which attempt is the current one, the
last event of it that was stored, and whether it is to stop. Neither a broker nor a writer that dies loses an event.
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

from ..broker import broker_url
from .spool import SpoolReader

RECORD = "prove_web.live.ingest"
EVERY = 1.0  # seconds between two messages
BEAT = 5.0  # seconds between two signs of life
AGAIN = 10.0  # seconds until events that were not stored are sent again
MOST = 200  # events in one message
CLAIMED = 86_400  # seconds that a claim is remembered
ONCE = {"max_retries": 1, "interval_start": 0, "interval_step": 0}  # a connection that a new broker does not know
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Word:
    """What the web side says of a job: the current attempt, the last event it stored, whether to stop."""

    attempt: int
    seq: int
    stop: str


def connect() -> redis.Redis:
    return redis.from_url(
        broker_url(), decode_responses=True, socket_timeout=5, socket_connect_timeout=5, retry=Retry(NoBackoff(), 1)
    )


def word_of(broker: redis.Redis, job: str) -> Word | None:
    """What is said of a job; None when the broker cannot be asked or does not know it."""
    try:
        found: dict[str, str] = broker.hgetall(f"prove:job:{job}")  # type: ignore[assignment]
    except redis.RedisError:
        return None
    if not found:
        return None
    return Word(int(found.get("attempt", 0)), int(found.get("seq", 0)), found.get("stop", ""))


def claim_key(job: str, attempt: int) -> str:
    """What has the name of whoever is at an attempt."""
    return f"prove:claim:{job}:{attempt}"


class Delivery:
    """The line between one attempt and the web side. A broker that does not answer is asked again, for ever."""

    def __init__(self, app: Celery, job: str, attempt: int, reader: SpoolReader):
        self.app, self.job, self.attempt, self.reader = app, job, attempt, reader
        self.broker = connect()
        self.sent = self.stored = 0  # the last event sent, and the last known to be stored
        self.sent_at = -BEAT
        self.advanced_at = time.monotonic()
        self.silent = False

    def claim(self, who: str) -> str:
        """Claim the attempt; who holds it. A broker that does not answer stands in nobody's way."""
        key = claim_key(self.job, self.attempt)
        try:
            return who if self.broker.set(key, who, nx=True, ex=CLAIMED) else str(self.broker.get(key) or who)
        except redis.RedisError:
            return who

    def word(self) -> Word | None:
        """What the web side says; None when the broker cannot be asked or does not know the job."""
        word = word_of(self.broker, self.job)
        if word and word.attempt == self.attempt and word.seq > self.stored:
            self.stored, self.advanced_at = word.seq, time.monotonic()
        return word

    def superseded(self) -> bool:
        word = self.word()
        return word is not None and word.attempt > self.attempt

    def pass_on(self) -> None:
        """Send what is new; what was sent long ago and is not stored, again; and a sign of life."""
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
        except Exception as error:  # kombu lets through the errors of whichever transport it uses
            if not self.silent:
                log.warning("Job %s: the broker does not answer (%s); events wait on disk.", self.job, error)
            self.silent = True
            return
        self.silent = False
        self.sent += len(events)

    def finish(self, enough: Callable[[], bool]) -> bool:
        """Go on until the last event is stored or a later attempt makes it void; False when it was `enough` before."""
        last = len(self.reader.read())
        while not enough():
            self.pass_on()
            word = self.word()
            if word and (word.attempt > self.attempt or (word.attempt == self.attempt and word.seq >= last)):
                return True
            time.sleep(EVERY / 2)
        return False
