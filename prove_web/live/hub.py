"""One hub per process: it hears the hints and reads what is new once, for all sockets of the process.

A hint may be dropped on its way (Channels keeps 100 a channel). Everything is read by cursor, and the hub looks by
itself now and then, so a lost hint, or a broker that was away, costs seconds and no data.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async
from channels.layers import get_channel_layer

from .deltas import deltas, newest
from .messages import UNREACHABLE

log = logging.getLogger(__name__)
LOOK = 3.0  # seconds after which the hub looks without a hint
REST = 0.2  # seconds between two rounds: at most five redraws a second


class Listener(Protocol):
    async def deliver(self, topic: Topic, message: dict[str, Any]) -> None: ...


Topic = tuple[str, str]  # ("job", id) or ("project", id)


class Hub:
    """What the sockets of this process follow, and how far each of them was told."""

    def __init__(self) -> None:
        self.cursors: dict[Topic, dict[Listener, Any]] = {}
        self.due: set[Topic] = set()
        self.called = asyncio.Event()
        self.hearing = asyncio.Event()
        self.layer = get_channel_layer()
        self.channel = ""
        self.tasks = [asyncio.create_task(self.hear()), asyncio.create_task(self.tell())]

    def follow(self, topic: Topic, listener: Listener, cursor: Any) -> None:
        """Have a listener told of everything on the topic after the cursor."""
        self.cursors.setdefault(topic, {})[listener] = cursor
        self.call(topic)

    def leave(self, listener: Listener) -> None:
        for topic, listeners in list(self.cursors.items()):
            listeners.pop(listener, None)
            if not listeners:
                del self.cursors[topic]

    def call(self, topic: Topic) -> None:
        self.due.add(topic)
        self.called.set()

    async def hear(self) -> None:
        """Turn hints into topics that are due. Every process hears all hints: they are few and small."""
        while True:
            try:
                self.channel = self.channel or await self.layer.new_channel("hub")
                await self.layer.group_add("live", self.channel)
                self.hearing.set()
                while True:
                    hint = await self.layer.receive(self.channel)
                    for topic in (("job", hint["job"]), ("project", str(hint["project"]))):
                        if topic in self.cursors:
                            self.call(topic)
            except UNREACHABLE as error:
                log.warning("The broker does not answer, looking without it: %s", error)
                await asyncio.sleep(LOOK)

    async def tell(self) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.called.wait(), LOOK)
            due = self.due or set(self.cursors)
            self.due, self.called = set(), asyncio.Event()
            for topic in due:
                await self.bring_up_to_date(topic)
            await asyncio.sleep(REST)

    async def bring_up_to_date(self, topic: Topic) -> None:
        listeners = dict(self.cursors.get(topic, {}))
        try:
            if topic[0] == "job":
                await self.tell_job(topic, listeners)
            else:
                await self.tell_project(topic, listeners)
        except Exception:  # a database that is busy or away must not end the hub
            log.exception("Could not read what is new about %s %s", *topic)

    async def tell_job(self, topic: Topic, listeners: dict[Listener, int]) -> None:
        """Read once from the cursor of whoever is furthest behind; each is told what is new to them."""
        if not listeners:
            return
        delta = await database_sync_to_async(deltas)(topic[1], min(listeners.values()))
        if delta is None:
            return
        for listener, cursor in listeners.items():
            events = [event for event in delta["events"] if event["id"] > cursor]
            if topic not in self.cursors or listener not in self.cursors[topic]:
                continue
            self.cursors[topic][listener] = max(cursor, delta["cursor"])
            await listener.deliver(topic, {**delta, "events": events, "cursor": max(cursor, delta["cursor"])})
        if delta["more"]:
            self.call(topic)

    async def tell_project(self, topic: Topic, listeners: dict[Listener, dict[str, Any]]) -> None:
        jobs = await database_sync_to_async(newest)(topic[1])
        for listener, told in listeners.items():
            changed = [job for job in jobs if told.get(job["id"]) != job]
            if changed and listener in self.cursors.get(topic, {}):
                self.cursors[topic][listener] = {job["id"]: job for job in jobs}
                await listener.deliver(topic, {"project": topic[1], "jobs": changed})


hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    """The hub of this event loop, of which a web process has one."""
    loop = asyncio.get_running_loop()
    if loop not in hubs:
        hubs[loop] = Hub()
    return hubs[loop]
