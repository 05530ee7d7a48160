"""A world: the servers of a scenario opened from one seed, with one clock that every write on any of them moves."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from hashlib import blake2b
from typing import Any

from .catalogue import SERVERS, TOOLS
from .kit import Reply, Session, Tool, ToolError
from .kit.session import refusal

Arguments = str | dict[str, Any]


class World:
    """One caller's sessions, by server, and the time it is in all of them."""

    __slots__ = ("now", "seed", "sessions", "size")

    def __init__(self, seed: int, size: str, sessions: dict[str, Session[Any]], now: datetime):
        self.seed, self.size, self.sessions, self.now = seed, size, sessions, now

    @classmethod
    def open(cls, seed: int, servers: tuple[str, ...], size: str = "default") -> World:
        """A new world. Raises KeyError for a server that is not in the catalogue, ValueError when none is named."""
        if not servers:
            raise ValueError("A world has at least one server.")
        sessions = {name: SERVERS[name].open(seed, size) for name in servers}
        return cls(seed, size, sessions, max(session.state.now for session in sessions.values()))

    def join(self, name: str) -> None:
        """Open one more server in this world, unless it is open. Raises KeyError when it is not in the catalogue."""
        if name not in self.sessions:
            self.sessions[name] = SERVERS[name].open(self.seed, self.size)
            self.now = max(self.now, self.sessions[name].state.now)

    def call(self, name: str, arguments: Arguments) -> Reply:
        """Run a tool on its server at the world's time. A refusal is a reply and changes nothing."""
        owner = TOOLS[name][0].name if name in TOOLS else ""
        session = self.sessions.get(owner)
        if session is None:
            return refusal(ToolError("unknown_tool", f"This world has no tool {name[:100]!r}."))
        reply = session.call(name, arguments, now=self.now)
        self.now = max(self.now, session.state.now)
        return reply

    def fork(self) -> World:
        """Another world that starts where this one is; neither sees what the other does next."""
        return World(self.seed, self.size, {name: one.fork() for name, one in self.sessions.items()}, self.now)

    def digest(self) -> str:
        """32 hex digits that are equal exactly when the world's time and the rows of all its servers are."""
        tables = ";".join(f"{name}={self.sessions[name].state.tables_digest()}" for name in sorted(self.sessions))
        return blake2b(f"{self.now.isoformat()};{tables}".encode(), digest_size=16).hexdigest()

    def known_by_heart(self) -> dict[tuple[str, str], str]:
        """What the user of this world knows though no tool tells it: by id and parameter name."""
        return {
            key: value
            for session in self.sessions.values()
            for key, value in session.server.known(session.state).items()
        }

    def tools(self) -> dict[str, Tool]:
        """The tools of all servers of this world, by name."""
        return {name: tool for session in self.sessions.values() for name, tool in session.server.tools.items()}


def replay(
    seed: int, servers: tuple[str, ...], size: str, calls: Iterable[tuple[str, Arguments]]
) -> tuple[list[Reply], str]:
    """What these calls answer in a new world, and the world's digest after them."""
    world = World.open(seed, servers, size)
    replies = [world.call(name, arguments) for name, arguments in calls]
    return replies, world.digest()
