"""One hub per process that receives hints and reads changes once for all of the process's sockets.

Hints may be dropped (Channels keeps 100 per channel). Because all data is read by cursor and the hub also polls, a lost
hint or an unavailable broker delays updates by seconds but loses no data.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import redis
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer

from prove_web.accounts.signing_in.sessions import open_ones

from . import hooks
from .deltas import deltas, newest
from .socket_permissions import Topic, get_permitted_users

log = logging.getLogger(__name__)
LOOK = 3.0  # polling interval in seconds
REST = 0.1  # seconds between rounds: at most ten updates per second
CHECK_AGAIN = 5.0  # seconds for which a permission check is cached


class Listener(Protocol):
    @property
    def person(self) -> int: ...

    @property
    def session(self) -> str: ...

    async def deliver(self, text: str) -> None: ...

    async def shut_out(self, topic: Topic) -> None: ...

    async def signed_out(self) -> None: ...


State = Callable[[str], dict[str, Any] | None]


class Hub:
    """The subscriptions of this process's sockets, and the state last sent to each.

    That state is, for a job, the cursor and its summary; for a project, its jobs; for a live session and a trajectory,
    the last message.
    """

    def __init__(self) -> None:
        self.cursors: dict[Topic, dict[Listener, Any]] = {}
        self.due: set[Topic] = set()
        self.seen: dict[Topic, tuple[float, set[int]]] = {}  # time of the last permission check, permitted users
        self.sending: dict[Listener, asyncio.Task[None]] = {}
        self.missed: dict[Listener, set[Topic]] = {}  # topics that changed while a message was being sent
        self.called = asyncio.Event()
        self.looked = 0.0
        self.layer = get_channel_layer()
        self.tasks = [asyncio.create_task(self.receive_hints()), asyncio.create_task(self.refresh())]

    async def close(self) -> None:
        """Cancel the tasks until they end, because the broker's client may swallow a cancellation."""
        while left := [task for task in (*self.tasks, *self.sending.values()) if not task.done()]:
            for task in left:
                task.cancel()
            await asyncio.wait(left, timeout=REST)

    def follow(self, topic: Topic, listener: Listener, cursor: int) -> None:
        """Subscribe a listener to everything on the topic after the cursor."""
        self.cursors.setdefault(topic, {})[listener] = (cursor, None) if topic[0] == "job" else {}
        self.call(topic)

    def unsubscribe_listener(self, listener: Listener, topic: Topic | None = None) -> None:
        """Unsubscribe a listener from this topic, or from all."""
        for each in [topic] if topic else list(self.cursors):
            listeners = self.cursors.get(each, {})
            listeners.pop(listener, None)
            if not listeners:
                self.cursors.pop(each, None)
                self.seen.pop(each, None)

    def call(self, topic: Topic) -> None:
        self.due.add(topic)
        self.called.set()

    async def receive_hints(self) -> None:
        """Turn hints into due topics. Every process receives all hints because they are few and small."""
        channel = ""
        while True:
            try:
                channel = channel or await self.layer.new_channel("hub")
                await self.layer.group_add("live", channel)
                while True:
                    self.take(await self.layer.receive(channel))
            except redis.TimeoutError:
                continue  # no hint for a while; one may have been lost with the connection
            except Exception as error:  # changes are found without hints too, only later
                log.warning("The broker does not answer; polling the database instead: %s", error)
                await asyncio.sleep(LOOK)

    def take(self, hint: dict[str, Any]) -> None:
        for kind in ("job", "project", *hooks.topics):
            topic = (kind, str(hint.get(kind, "")))
            if topic in self.cursors:
                self.call(topic)

    async def refresh(self) -> None:
        """Update the due topics in each round, and regularly all topics."""
        clock = asyncio.get_running_loop().time
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.called.wait(), LOOK)
            due, self.due = self.due, set()
            self.called.clear()
            if clock() - self.looked > LOOK:
                due, self.looked = set(self.cursors), clock()
                await self.leave_signed_out()
            for topic in due:
                await self.bring_up_to_date(topic)
            await asyncio.sleep(REST)

    async def leave_signed_out(self) -> None:
        """Close the sockets of ended sessions, with one query for all sockets."""
        following = {listener for listeners in self.cursors.values() for listener in listeners if listener.session}
        try:
            found = await database_sync_to_async(open_ones)({listener.session for listener in following})
        except Exception:  # a busy or unavailable database must not end the hub
            log.exception("Could not read which users are signed in")
            return
        for listener in following:
            if listener.session not in found:
                self.unsubscribe_listener(listener)
                await listener.signed_out()

    async def bring_up_to_date(self, topic: Topic) -> None:
        try:
            await self.shut_out(topic)
            listeners = dict(self.cursors.get(topic, {}))
            match topic[0]:
                case "job":
                    await self.tell_job(topic, listeners)
                case "project":
                    await self.tell_project(topic, listeners)
                case kind:
                    await self.tell_state(topic, listeners, hooks.topics[kind].state)
        except Exception:  # a busy or unavailable database must not end the hub
            log.exception("Could not read the updates of %s %s", *topic)

    async def shut_out(self, topic: Topic) -> None:
        """Unsubscribe users who lost access; a deleted topic is reported to all its subscribers."""
        checked_at, may = self.seen.get(topic, (0.0, set()))
        people = {listener.person for listener in self.cursors.get(topic, {})}
        if time.monotonic() - checked_at >= CHECK_AGAIN or not people <= may:
            found = await database_sync_to_async(get_permitted_users)(topic, people)
            if found is None:
                return
            may = found
            self.seen[topic] = time.monotonic(), may
        for listener in [one for one in self.cursors.get(topic, {}) if one.person in people - may]:
            self.unsubscribe_listener(listener, topic)
            await listener.shut_out(topic)

    async def tell_job(self, topic: Topic, listeners: dict[Listener, tuple[int, Any]]) -> None:
        """Read once per distinct cursor, which nearly all listeners share."""
        for cursor in sorted({cursor for cursor, _ in listeners.values()}):
            delta = await database_sync_to_async(deltas)(topic[1], cursor)
            if delta is None:
                return
            more, now = delta.pop("more"), (delta["cursor"], delta["summary"])
            text = json.dumps(delta)
            for listener, before in listeners.items():
                if before[0] == cursor and before != now:
                    self.pass_on(topic, listener, before, now, text)
            if more:
                self.call(topic)

    async def tell_project(self, topic: Topic, listeners: dict[Listener, dict[str, Any]]) -> None:
        jobs = await database_sync_to_async(newest)(topic[1])
        now = {job["id"]: job for job in jobs}
        for listener, before in listeners.items():
            if changed := [job for job in jobs if before.get(job["id"]) != job]:
                self.pass_on(topic, listener, before, now, json.dumps({"project": topic[1], "jobs": changed}))

    async def tell_state(self, topic: Topic, listeners: dict[Listener, Any], state: State) -> None:
        now = await database_sync_to_async(state)(topic[1]) or {"gone": True}
        text = json.dumps({topic[0]: topic[1], **now})
        for listener, before in listeners.items():
            if before != now:
                self.pass_on(topic, listener, before, now, text)

    def pass_on(self, topic: Topic, listener: Listener, before: Any, now: Any, text: str) -> None:
        """Send to one listener unless it unsubscribed or resubscribed; while a message is in flight, defer."""
        if self.cursors.get(topic, {}).get(listener) != before:
            return
        if listener in self.sending:
            self.missed.setdefault(listener, set()).add(topic)
            return
        self.cursors[topic][listener] = now
        self.sending[listener] = asyncio.create_task(self.send(listener, text))

    async def send(self, listener: Listener, text: str) -> None:
        """Send a message; a failing listener is removed, and a slow one does not block the others."""
        try:
            await listener.deliver(text)
        except Exception as error:  # whatever error ended its socket
            log.info("A socket was closed: %r", error)
            self.unsubscribe_listener(listener)
        finally:
            self.sending.pop(listener, None)
            for topic in self.missed.pop(listener, ()):
                self.call(topic)


hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    """Return the hub of this event loop; a web process has one."""
    loop = asyncio.get_running_loop()
    if loop not in hubs:
        hubs[loop] = Hub()
    return hubs[loop]
