"""One hub per process: it hears the hints and reads what is new once, for all sockets of the process.

A hint may be dropped on its way (Channels keeps 100 a channel). Everything is read by cursor, and the hub looks by
itself now and then, so a lost hint, or a broker that was away, costs seconds and no data.
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

from .deltas import deltas, newest, session_now, trajectory_now
from .socket_permissions import Topic, permitted

log = logging.getLogger(__name__)
LOOK = 3.0  # seconds after which the hub looks without a hint
KINDS = ("job", "project", "session", "trajectory")
REST = 0.1  # seconds between two rounds: at most ten redraws a second
CHECK_AGAIN = 5.0  # seconds for which a permission is taken as it was


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
    """What the sockets of this process follow, and how far each of them was told.

    How far is, for a job, the cursor and its summary then; for a project, its jobs as they were; for a live session
    and a trajectory, how it stood.
    """

    def __init__(self) -> None:
        self.told: dict[Topic, dict[Listener, Any]] = {}
        self.due: set[Topic] = set()
        self.seen: dict[Topic, tuple[float, set[int]]] = {}  # when it was last asked who may see it, and who may
        self.sending: dict[Listener, asyncio.Task[None]] = {}
        self.missed: dict[Listener, set[Topic]] = {}  # what there was to tell while they were being told something
        self.called = asyncio.Event()
        self.looked = 0.0
        self.layer = get_channel_layer()
        self.tasks = [asyncio.create_task(self.hear()), asyncio.create_task(self.refresh())]

    async def close(self) -> None:
        """End its tasks. The broker's client may swallow a cancellation, so they are cancelled until they end."""
        while left := [task for task in (*self.tasks, *self.sending.values()) if not task.done()]:
            for task in left:
                task.cancel()
            await asyncio.wait(left, timeout=REST)

    def follow(self, topic: Topic, listener: Listener, cursor: int) -> None:
        """Have a listener told of everything on the topic after the cursor."""
        self.told.setdefault(topic, {})[listener] = (cursor, None) if topic[0] == "job" else {}
        self.call(topic)

    def leave(self, listener: Listener, topic: Topic | None = None) -> None:
        """Tell a listener no more of this topic, or of any."""
        for each in [topic] if topic else list(self.told):
            listeners = self.told.get(each, {})
            listeners.pop(listener, None)
            if not listeners:
                self.told.pop(each, None)
                self.seen.pop(each, None)

    def call(self, topic: Topic) -> None:
        self.due.add(topic)
        self.called.set()

    async def hear(self) -> None:
        """Turn hints into topics that are due. Every process hears all hints: they are few and small."""
        channel = ""
        while True:
            try:
                channel = channel or await self.layer.new_channel("hub")
                await self.layer.group_add("live", channel)
                while True:
                    self.take(await self.layer.receive(channel))
            except redis.TimeoutError:
                continue  # no hint for a while; one may have come and gone with the connection
            except Exception as error:  # whatever it is, what is new is found without hints, only later
                log.warning("The broker does not answer, looking without it: %s", error)
                await asyncio.sleep(LOOK)

    def take(self, hint: dict[str, Any]) -> None:
        for kind in KINDS:
            topic = (kind, str(hint.get(kind, "")))
            if topic in self.told:
                self.call(topic)

    async def refresh(self) -> None:
        """Round after round: bring up to date what is due, and now and then everything."""
        clock = asyncio.get_running_loop().time
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.called.wait(), LOOK)
            due, self.due = self.due, set()
            self.called.clear()
            if clock() - self.looked > LOOK:
                due, self.looked = set(self.told), clock()
                await self.leave_signed_out()
            for topic in due:
                await self.bring_up_to_date(topic)
            await asyncio.sleep(REST)

    async def leave_signed_out(self) -> None:
        """Close the sockets of sessions that were ended: one query, however many sockets there are."""
        following = {listener for listeners in self.told.values() for listener in listeners if listener.session}
        try:
            found = await database_sync_to_async(open_ones)({listener.session for listener in following})
        except Exception:  # a database that is busy or away must not end the hub
            log.exception("Could not read who is signed in")
            return
        for listener in following:
            if listener.session not in found:
                self.leave(listener)
                await listener.signed_out()

    async def bring_up_to_date(self, topic: Topic) -> None:
        try:
            await self.shut_out(topic)
            listeners = dict(self.told.get(topic, {}))
            match topic[0]:
                case "job":
                    await self.tell_job(topic, listeners)
                case "project":
                    await self.tell_project(topic, listeners)
                case "session":
                    await self.tell_state(topic, listeners, session_now)
                case _:
                    await self.tell_state(topic, listeners, trajectory_now)
        except Exception:  # a database that is busy or away must not end the hub
            log.exception("Could not read what is new about %s %s", *topic)

    async def shut_out(self, topic: Topic) -> None:
        """Tell no more to those who may not see it any longer; what is gone is told to all who followed it."""
        asked, may = self.seen.get(topic, (0.0, set()))
        people = {listener.person for listener in self.told.get(topic, {})}
        if time.monotonic() - asked >= CHECK_AGAIN or not people <= may:
            found = await database_sync_to_async(permitted)(topic, people)
            if found is None:
                return
            may = found
            self.seen[topic] = time.monotonic(), may
        for listener in [one for one in self.told.get(topic, {}) if one.person in people - may]:
            self.leave(listener, topic)
            await listener.shut_out(topic)

    async def tell_job(self, topic: Topic, listeners: dict[Listener, tuple[int, Any]]) -> None:
        """Read once for all who are equally far: nearly always everyone."""
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
        """Have one listener told, unless it left or asked anew since; one who is still being told is told later."""
        if self.told.get(topic, {}).get(listener) != before:
            return
        if listener in self.sending:
            self.missed.setdefault(listener, set()).add(topic)
            return
        self.told[topic][listener] = now
        self.sending[listener] = asyncio.create_task(self.send(listener, text))

    async def send(self, listener: Listener, text: str) -> None:
        """One that cannot be told is gone; a slow one keeps nobody else waiting."""
        try:
            await listener.deliver(text)
        except Exception as error:  # whatever its socket died of
            log.info("A socket went away: %r", error)
            self.leave(listener)
        finally:
            self.sending.pop(listener, None)
            for topic in self.missed.pop(listener, ()):
                self.call(topic)


hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    """The hub of this event loop, of which a web process has one."""
    loop = asyncio.get_running_loop()
    if loop not in hubs:
        hubs[loop] = Hub()
    return hubs[loop]
