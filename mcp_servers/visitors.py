"""The sessions that a gateway has open: each caller's world, who came last, and which were ended on purpose."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from .catalogue import TOOLS
from .faults import Faults
from .kit import Reply, ToolError
from .kit.session import refusal
from .kit.state import State
from .world import World

log = logging.getLogger(__name__)
Clock = Callable[[], float]
HISTORY_LIMIT = 1  # earlier changes that a session keeps: what a stale answer, a fault on purpose, is read from
MOST_CHANGES = 20_000  # calls that change a session's world; each may add a row of about a kilobyte
FULL = f"This session's world was changed {MOST_CHANGES:,} times, the most there may be. Go on in another session."


@dataclass(frozen=True)
class Key:
    """What names a session: its `kind` is `ticket`, `name` or `legacy`; `owner` is what its ticket says."""

    kind: str
    name: str
    seed: int
    size: str
    owner: str = ""

    @property
    def id(self) -> str:
        """16 hex digits that stand for it where the name itself, which lets in, should not be said."""
        told = "\0".join((self.kind, self.name, str(self.seed), self.size, self.owner))
        return blake2b(told.encode(), digest_size=8).hexdigest()


class Ended(Exception):
    """A session was ended on purpose, at this moment of the wall clock, in seconds since 1970."""

    def __init__(self, at: float):
        super().__init__(at)
        self.at = at


class Visitor:
    """A caller's world, in which servers are opened when they are first used."""

    def __init__(self, key: Key, faults: Faults | None = None, wall: Clock = time.time):
        self.key, self.faults, self.wall = key, faults, wall
        self.opened = self.used = wall()
        self.client = ""
        self.ended: float | None = None
        self.reset()

    def reset(self) -> None:
        """The world as new, and no calls yet."""
        self.world: World | None = None
        self.servers: tuple[str, ...] = ()
        self.calls, self.changes, self.delay = 0, 0, 0.0

    def within(self, server: str) -> World:
        if self.world is None:
            self.world = World.open(self.key.seed, (server,), self.key.size, self.faults, HISTORY_LIMIT)
        self.world.join(server)
        self.servers = tuple(self.world.sessions)
        return self.world

    def call(self, tool: str, arguments: dict[str, Any]) -> Reply:
        world, writes = self.within(TOOLS[tool][0].name), TOOLS[tool][1].writes
        self.calls, self.used = self.calls + 1, self.wall()
        if writes and self.changes >= MOST_CHANGES:
            return refusal(ToolError("session_full", FULL))
        world.injected = ()
        reply = world.call(tool, arguments)
        self.changes += writes and reply.ok
        self.delay = sum(one.delay for one in world.injected) / 1000
        for one in world.injected:
            log.warning("Fault on purpose: call %d, %s, %s", *one[:3])
        return reply

    def state(self, server: str) -> State:
        world = self.within(server)
        self.used = self.wall()
        state: State = world.sessions[server].state.draft(now=world.now)
        return state

    def told(self) -> dict[str, Any]:
        """Whose it is and how it stands, in what JSON can say; moments in seconds since 1970."""
        return {
            "id": self.key.id,
            "kind": self.key.kind,
            "name": self.key.name,
            "owner": self.key.owner,
            "seed": self.key.seed,
            "size": self.key.size,
            "servers": list(self.servers),
            "client": self.client,
            "calls": self.calls,
            "opened": self.opened,
            "used": self.used,
            "ended": self.ended,
        }


class Visitors:
    """The visitors by session. Who is idle for too long goes, and when there are too many, who was idle longest.

    One that was ended is kept, without its world, so that who comes again can be told; it is not idle, but may be
    too many.
    """

    def __init__(
        self,
        sessions: int,
        idle: float,
        faults: Faults | None = None,
        clock: Clock = time.monotonic,
        wall: Clock = time.time,
    ):
        self.sessions, self.idle, self.faults, self.clock, self.wall = sessions, idle, faults, clock, wall
        self.seen: OrderedDict[Key, tuple[float, Visitor]] = OrderedDict()
        self.ended: OrderedDict[Key, Visitor] = OrderedDict()

    def get(self, key: Key) -> Visitor:
        """The session's visitor, opened now if there was none. Raises Ended."""
        if key in self.ended:
            raise Ended(self.ended[key].ended or 0.0)
        now = self.clock()
        self.forget(now)
        _, visitor = self.seen.get(key) or (now, Visitor(key, self.faults, self.wall))
        self.seen[key] = (now, visitor)
        self.seen.move_to_end(key)
        if len(self.seen) > self.sessions:
            self.seen.popitem(last=False)
        return visitor

    def forget(self, now: float) -> None:
        while self.seen and next(iter(self.seen.values()))[0] < now - self.idle:
            self.seen.popitem(last=False)

    def all(self) -> list[Visitor]:
        """Those who came last first, then those that were ended last."""
        self.forget(self.clock())
        return [visitor for _, visitor in reversed(self.seen.values())] + list(reversed(self.ended.values()))

    def find(self, id: str) -> Visitor | None:
        return next((visitor for visitor in self.all() if visitor.key.id == id), None)

    def end(self, visitor: Visitor) -> None:
        """Let nobody into this session until it is started again, and keep nothing of its world."""
        self.seen.pop(visitor.key, None)
        visitor.world = None
        visitor.ended = visitor.ended or self.wall()
        self.ended[visitor.key] = visitor
        if len(self.ended) > self.sessions:
            self.ended.popitem(last=False)

    def start(self, visitor: Visitor) -> None:
        """Let its clients in again, to a world as new."""
        self.ended.pop(visitor.key, None)
        visitor.ended = None
        visitor.reset()
        self.seen[visitor.key] = (self.clock(), visitor)
