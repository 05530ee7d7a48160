"""A world: the servers of a scenario opened from one seed, with one clock that every write on any of them moves."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from hashlib import blake2b
from typing import Any

from .catalogue import SERVERS, TOOLS
from .core import Reply, Session, Tool, ToolError
from .core.arguments import canonical
from .core.session import refusal
from .faults import Faults, InjectedFault, build_fault_reply

Arguments = str | dict[str, Any]
MOST_TRIED = 10_000  # calls whose repetitions a world with a bounded history counts


class World:
    """One caller's sessions by server, and the clock that they share.

    If `faults` is set, faults are injected into calls, and `injected` lists them. `history_limit` applies to every
    session.
    """

    __slots__ = ("faults", "history_limit", "injected", "now", "seed", "sessions", "size", "tried", "tries")

    def __init__(self, seed: int, size: str, sessions: dict[str, Session[Any]], now: datetime):
        self.seed, self.size, self.sessions, self.now = seed, size, sessions, now
        self.faults: Faults | None = None
        self.history_limit: int | None = None
        self.injected: tuple[InjectedFault, ...] = ()
        self.tried: dict[bytes, int] = {}  # how often each call that can meet a fault was made, by its digest
        self.tries = 0

    @classmethod
    def open(
        cls,
        seed: int,
        servers: tuple[str, ...],
        size: str = "default",
        faults: Faults | None = None,
        history_limit: int | None = None,
    ) -> World:
        """Open a new world. Raises KeyError for a server that is not in the catalogue, ValueError if none is given."""
        if not servers:
            raise ValueError("A world has at least one server.")
        sessions = {name: SERVERS[name].open(seed, size, history_limit) for name in servers}
        world = cls(seed, size, sessions, max(session.state.now for session in sessions.values()))
        world.faults, world.history_limit = faults, history_limit
        return world

    def join(self, name: str) -> None:
        """Open one more server in this world, unless it is open. Raises KeyError when it is not in the catalogue."""
        if name not in self.sessions:
            self.sessions[name] = SERVERS[name].open(self.seed, self.size, self.history_limit)
            self.now = max(self.now, self.sessions[name].state.now)

    def call(self, name: str, arguments: Arguments) -> Reply:
        """Run a tool on its server at the world's time. A refusal is a reply and changes nothing."""
        owner = TOOLS[name][0].name if name in TOOLS else ""
        session = self.sessions.get(owner)
        if session is None:
            return refusal(ToolError("unknown_tool", f"This world has no tool {name[:100]!r}."))
        reply = self.fault(session, name, arguments) if self.faults else None
        if reply is None:
            reply = session.call(name, arguments, now=self.now)
            self.now = max(self.now, session.state.now)
        return reply

    def fault(self, session: Session[Any], name: str, arguments: Arguments) -> Reply | None:
        """Return the reply to a call that meets a fault; None if the call runs normally or is only slow."""
        assert self.faults
        try:
            call = (name, canonical(arguments))
        except ToolError:
            return None
        kind, earlier = self.faults.draw_fault(*call, self.count(*call)), session.before_the_last_write()
        if kind is None or (kind == "stale" and (earlier is None or TOOLS[name][1].writes)):
            return None
        self.injected += (InjectedFault(self.tries, name, kind, self.faults.delay if kind == "slow" else 0),)
        match kind:
            case "slow":
                return None
            case "stale" if earlier:
                return session.note(name, arguments, earlier.call(name, arguments, now=self.now))
        return session.note(name, arguments, build_fault_reply(kind))

    def count(self, name: str, arguments: str) -> int:
        """Count a call that can meet a fault. Return how often it was made, including this time."""
        self.tries += 1
        call = blake2b(f"{name}\0{arguments}".encode(), digest_size=16).digest()
        times = self.tried[call] = self.tried.pop(call, 0) + 1
        if self.history_limit is not None and len(self.tried) > MOST_TRIED:
            del self.tried[next(iter(self.tried))]
        return times

    def fork(self) -> World:
        """Return another world in the state of this one; neither sees what the other does next."""
        twin = World(self.seed, self.size, {name: one.fork() for name, one in self.sessions.items()}, self.now)
        twin.faults, twin.history_limit = self.faults, self.history_limit
        twin.injected, twin.tried, twin.tries = self.injected, self.tried.copy(), self.tries
        return twin

    def digest(self) -> str:
        """Return 32 hex digits that are equal exactly when the world's time and the rows of all its servers are."""
        tables = ";".join(f"{name}={self.sessions[name].state.tables_digest()}" for name in sorted(self.sessions))
        return blake2b(f"{self.now.isoformat()};{tables}".encode(), digest_size=16).hexdigest()

    def known_by_heart(self) -> dict[tuple[str, str], str]:
        """Return what the user of this world knows but no tool reveals, by id and parameter name."""
        return {
            key: value
            for session in self.sessions.values()
            for key, value in session.server.known(session.state).items()
        }

    def tools(self) -> dict[str, Tool]:
        """Return the tools of all servers of this world by name."""
        return {name: tool for session in self.sessions.values() for name, tool in session.server.tools.items()}


def replay(
    seed: int, servers: tuple[str, ...], size: str, calls: Iterable[tuple[str, Arguments]]
) -> tuple[list[Reply], str]:
    """Make these calls in a new world. Return their replies and the world's digest after them."""
    world = World.open(seed, servers, size)
    replies = [world.call(name, arguments) for name, arguments in calls]
    return replies, world.digest()
