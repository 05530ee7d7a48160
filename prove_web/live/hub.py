"""One hub per process: it hears the hints and reads what is new once, for all sockets of the process.

A hint may be dropped on its way (Channels keeps 100 a channel). Everything is read by cursor, and the hub looks by
itself now and then, so a lost hint, or a broker that was away, costs seconds and no data.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import redis
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer

from .deltas import deltas, newest, session_now, trajectory_now

log = logging.getLogger(__name__)
LOOK = 3.0  # seconds after which the hub looks without a hint
KINDS = ("job", "project", "session", "trajectory")
REST = 0.2  # seconds between two rounds: at most five redraws a second


class Listener(Protocol):
    async def deliver(self, topic: Topic, message: dict[str, Any]) -> None: ...


State = Callable[[str], dict[str, Any] | None]
Topic = tuple[str, str]  # ("job", id), ("project", id), ("session", id) or ("trajectory", id)


class Hub:
    """What the sockets of this process follow, and how far each of them was told.

    How far is, for a job, the cursor and its summary then; for a project, its jobs as they were; for a live session
    and a trajectory, how it stood.
    """

    def __init__(self) -> None:
        self.told: dict[Topic, dict[Listener, Any]] = {}
        self.due: set[Topic] = set()
        self.called = asyncio.Event()
        self.looked = 0.0
        self.layer = get_channel_layer()
        self.tasks = [asyncio.create_task(self.hear()), asyncio.create_task(self.tell())]

    async def close(self) -> None:
        """End its tasks. The broker's client may swallow a cancellation, so they are cancelled until they end."""
        while left := [task for task in self.tasks if not task.done()]:
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

    async def tell(self) -> None:
        """Round after round: bring up to date what is due, and now and then everything."""
        clock = asyncio.get_running_loop().time
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.called.wait(), LOOK)
            due, self.due = self.due, set()
            self.called.clear()
            if clock() - self.looked > LOOK:
                due, self.looked = set(self.told), clock()
            for topic in due:
                await self.bring_up_to_date(topic)
            await asyncio.sleep(REST)

    async def bring_up_to_date(self, topic: Topic) -> None:
        listeners = dict(self.told.get(topic, {}))
        try:
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

    async def tell_job(self, topic: Topic, listeners: dict[Listener, tuple[int, Any]]) -> None:
        """Read once for all who are equally far: nearly always everyone."""
        for cursor in sorted({cursor for cursor, _ in listeners.values()}):
            delta = await database_sync_to_async(deltas)(topic[1], cursor)
            if delta is None:
                return
            more, now = delta.pop("more"), (delta["cursor"], delta["summary"])
            for listener, before in listeners.items():
                if before[0] == cursor and before != now:
                    await self.pass_on(topic, listener, before, now, delta)
            if more:
                self.call(topic)

    async def tell_project(self, topic: Topic, listeners: dict[Listener, dict[str, Any]]) -> None:
        jobs = await database_sync_to_async(newest)(topic[1])
        now = {job["id"]: job for job in jobs}
        for listener, before in listeners.items():
            if changed := [job for job in jobs if before.get(job["id"]) != job]:
                await self.pass_on(topic, listener, before, now, {"project": topic[1], "jobs": changed})

    async def tell_state(self, topic: Topic, listeners: dict[Listener, Any], state: State) -> None:
        now = await database_sync_to_async(state)(topic[1]) or {"gone": True}
        for listener, before in listeners.items():
            if before != now:
                await self.pass_on(topic, listener, before, now, {topic[0]: topic[1], **now})

    async def pass_on(self, topic: Topic, listener: Listener, before: Any, now: Any, message: dict[str, Any]) -> None:
        """Tell one listener, unless it left or asked anew since; one that cannot be told is gone."""
        if self.told.get(topic, {}).get(listener) != before:
            return
        self.told[topic][listener] = now
        try:
            await listener.deliver(topic, message)
        except Exception as error:  # whatever its socket died of, the others are told
            log.info("A socket went away: %r", error)
            self.leave(listener)


hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    """The hub of this event loop, of which a web process has one."""
    loop = asyncio.get_running_loop()
    if loop not in hubs:
        hubs[loop] = Hub()
    return hubs[loop]
