"""Open sessions of a gateway, each with its own world; a session that has ended is never answered again."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from ..catalogue import TOOLS
from ..core import Reply, ToolError
from ..core.session import refusal
from ..core.state import State
from ..faults import Faults, InjectedFault
from ..world import World
from .session_registry import EndedSession, Reason, SessionRegistry

log = logging.getLogger(__name__)
Clock = Callable[[], float]
HISTORY_LIMIT = 1  # earlier changes that a session keeps; an injected stale reply is read from them
NO_NOTE = "The gateway cannot write its list of sessions"
MOST_LISTED = 200  # ended sessions
MOST_CHANGES = 20_000  # calls that change a session's world; each may add a row of about a kilobyte
FULL = f"This session's world was changed {MOST_CHANGES:,} times, the most there may be. Go on in another session."


@dataclass(frozen=True)
class Key:
    """Identity of a session; `kind` is `ticket`, `name` or `legacy`, and `owner` comes from its ticket."""

    kind: str
    name: str
    seed: int
    size: str
    owner: str = ""

    @property
    def id(self) -> str:
        """16 hex digits that identify the session without revealing its name, which grants access.

        Seed and size count only for a ticket: a named session stays the same one in a gateway with another seed.
        """
        world = (str(self.seed), self.size, self.owner) if self.kind == "ticket" else ("", "", "")
        return blake2b("\0".join((self.kind, self.name, *world)).encode(), digest_size=8).hexdigest()


class SessionEndedError(Exception):
    """Error for a session that has ended and whose world is gone; `at` is in seconds since 1970."""

    def __init__(self, at: float, reason: Reason):
        super().__init__(at, reason)
        self.at, self.reason = at, reason


class Visitor:
    """A caller's session, with a world in which servers are opened on first use."""

    def __init__(self, key: Key, faults: Faults | None = None, wall: Clock = time.time):
        self.key, self.faults, self.wall = key, faults, wall
        self.opened = self.used = wall()
        self.client, self.reason = "", ""
        self.ended: float | None = None
        self.served = False  # whether the registry knows it
        self.reset()

    @classmethod
    def from_ended(cls, gone: EndedSession) -> Visitor:
        """Return an ended session as it was when it ended."""
        fields = gone.fields
        visitor = cls(Key(fields["kind"], fields["name"], fields["seed"], fields["size"], fields["owner"]))
        visitor.servers, visitor.client, visitor.calls = tuple(fields["servers"]), fields["client"], fields["calls"]
        visitor.opened, visitor.used = fields["opened"], fields["used"]
        visitor.ended, visitor.reason = gone.ended, gone.reason
        return visitor

    def reset(self) -> None:
        """Discard the world and the counts of calls."""
        self.world: World | None = None
        self.servers: tuple[str, ...] = ()
        self.calls, self.changes, self.delay = 0, 0, 0.0

    def ensure_world(self, server: str) -> World:
        if self.world is None:
            self.world = World.open(self.key.seed, (server,), self.key.size, self.faults, HISTORY_LIMIT)
        self.world.join(server)
        self.servers = tuple(self.world.sessions)
        return self.world

    def call(self, tool: str, arguments: dict[str, Any]) -> Reply:
        world, writes = self.ensure_world(TOOLS[tool][0].name), TOOLS[tool][1].writes
        self.calls, self.used = self.calls + 1, self.wall()
        if writes and self.changes >= MOST_CHANGES:
            return refusal(ToolError("session_full", FULL))
        world.injected = ()
        reply = world.call(tool, arguments)
        self.changes += writes and reply.ok
        injected: tuple[InjectedFault, ...] = world.injected
        self.delay = sum(one.delay for one in injected) / 1000
        for one in injected:
            log.warning("Fault on purpose: call %d, %s, %s", *one[:3])
        return reply

    def state(self, server: str) -> State:
        world = self.ensure_world(server)
        self.used = self.wall()
        state: State = world.sessions[server].state.draft(now=world.now)
        return state

    def to_dict(self) -> dict[str, Any]:
        """Return the session's identity and state as JSON values; times are in seconds since 1970."""
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
            "reason": self.reason,
        }


class Visitors:
    """Open sessions by key. A session that is idle for too long is dropped, and the longest idle if there are too many.

    A session that was dropped after a call, or that somebody stopped, has ended until it is started again. The registry
    knows all of them, and after a restart too if it has a file.
    """

    def __init__(
        self,
        sessions: int,
        idle: float,
        faults: Faults | None = None,
        clock: Clock = time.monotonic,
        wall: Clock = time.time,
        file: Path | None = None,
    ):
        self.sessions, self.idle, self.faults, self.clock, self.wall = sessions, idle, faults, clock, wall
        self.seen: OrderedDict[Key, tuple[float, Visitor]] = OrderedDict()
        self.registry = SessionRegistry(file, wall)

    def get(self, key: Key) -> Visitor:
        """Return the session of this key, opening it if there is none. Raises Ended."""
        now = self.clock()
        self.forget(now)
        if key in self.seen:
            _, visitor = self.seen[key]
        elif gone := self.registry.find(key.id):
            raise SessionEndedError(gone.ended, gone.reason)
        else:
            visitor = Visitor(key, self.faults, self.wall)
        self.seen[key] = (now, visitor)
        self.seen.move_to_end(key)
        if len(self.seen) > self.sessions:
            self.drop("crowded")
        return visitor

    def serve(self, key: Key) -> Visitor:
        """Return the session for a request to its world. Raises Ended, and sqlite3.Error if it can't be registered."""
        visitor = self.get(key)
        if not visitor.served:
            self.registry.add(key.id, visitor.to_dict())
            visitor.served = True
        return visitor

    def forget(self, now: float) -> None:
        while self.seen and next(iter(self.seen.values()))[0] < now - self.idle:
            self.drop("idle")

    def drop(self, reason: Reason) -> None:
        """Drop the session that was idle longest."""
        key, (_, visitor) = next(iter(self.seen.items()))
        del self.seen[key]
        if visitor.served:
            try:
                self.registry.end(key.id, visitor.to_dict(), reason)
            except sqlite3.Error as error:  # the registry has the session since its first call
                log.warning("%s (%s): when and why a session ended is not noted.", NO_NOTE, error)

    def all(self) -> list[Visitor]:
        """Return the open sessions, latest first, then the last ended ones that can be started again."""
        self.forget(self.clock())
        gone = [
            each for each in self.registry.recent(MOST_LISTED) if each.fields["kind"] == "ticket" or was_stopped(each)
        ]
        return [visitor for _, visitor in reversed(self.seen.values())] + [Visitor.from_ended(each) for each in gone]

    def find(self, id: str) -> Visitor | None:
        """Return the session of this id, open or ended, or None."""
        self.forget(self.clock())
        found = next((visitor for _, visitor in self.seen.values() if visitor.key.id == id), None)
        gone = None if found else self.registry.find(id)
        return Visitor.from_ended(gone) if gone else found

    def end(self, visitor: Visitor) -> Visitor:
        """End a session and discard its world; its clients are refused until it is started again."""
        self.registry.end(visitor.key.id, visitor.to_dict(), "stopped")
        self.seen.pop(visitor.key, None)
        gone = self.registry.find(visitor.key.id)
        assert gone
        return Visitor.from_ended(gone)

    def start(self, visitor: Visitor) -> Visitor:
        """Start an ended session again, in a new world."""
        self.registry.remove(visitor.key.id)
        self.seen.pop(visitor.key, None)
        return self.get(visitor.key)


def was_stopped(gone: EndedSession) -> bool:
    return gone.reason == "stopped"
