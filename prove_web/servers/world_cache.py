"""Worlds of live sessions, rebuilt by a replay of the recorded calls and cached while in use."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, fields
from threading import Lock
from typing import Any

from mcp_servers.catalogue import SERVERS
from mcp_servers.core import Reply
from mcp_servers.faults import KINDS, Faults, InjectedFault
from mcp_servers.world import World

from .models import LiveSession

CAPACITY = 64


class NotRebuilt(Exception):
    """Error of a session whose world can't be rebuilt, with the reason; its calls are still stored."""


class ServerGone(NotRebuilt):
    """Error of a session with servers that are no longer in the catalogue."""

    def __init__(self, names: str):
        super().__init__(f"No longer available: server {names}. This session cannot be replayed.")


class WorldDiffers(NotRebuilt):
    """Error of a session whose seed opens another world than the one its calls were made in."""

    def __init__(self) -> None:
        super().__init__("The initial state of this seed has changed since the calls of this session were made.")


@dataclass(frozen=True, slots=True)
class Moment:
    """The world after one call, or the initial one. All requests share it, so fork it before a call.

    `as_recorded` is False if the servers now answer the call differently than recorded.
    """

    world: World
    as_recorded: bool = True


class Cache:
    """Moments of the most recently used sessions; thread-safe, because moments never change."""

    def __init__(self, most: int):
        self.most, self.lock = most, Lock()
        self.entries: OrderedDict[Any, tuple[Moment, ...]] = OrderedDict()

    def get(self, session: LiveSession) -> tuple[Moment, ...]:
        with self.lock:
            if self.key(session) in self.entries:
                self.entries.move_to_end(self.key(session))
            return self.entries.get(self.key(session), ())

    def put(self, session: LiveSession, moments: tuple[Moment, ...]) -> None:
        """Store these moments, unless another thread has stored more."""
        with self.lock:
            if len(moments) > len(self.entries.get(self.key(session), ())):
                self.entries[self.key(session)] = moments
            self.entries.move_to_end(self.key(session))
            while len(self.entries) > self.most:
                self.entries.popitem(last=False)

    @staticmethod
    def key(session: LiveSession) -> Any:
        return session.pk, session.created_at


cache = Cache(CAPACITY)


def moments(session: LiveSession) -> tuple[Moment, ...]:
    """Return the initial moment and that after each call. Replays only new calls; one query.

    Raises NotRebuilt.
    """
    found = list(cache.get(session) or (build_initial_moment(session),))
    check_opening(session, found[0].world)
    for call in session.calls.filter(position__gte=len(found)):
        world = fork_world(found[-1], call.faults)
        reply = world.call(call.tool, call.arguments)
        found.append(Moment(world, reply == Reply(call.ok, call.text)))
    cache.put(session, tuple(found))
    return tuple(found)


def fork_world(moment: Moment, faults: str) -> World:
    """Return a fork of this moment's world with these faults."""
    world = moment.world.fork()
    world.faults = Faults.parse(faults) if faults else None
    return world


def get_injected_faults(known: tuple[Moment, ...], position: int) -> tuple[InjectedFault, ...]:
    """Return the injected faults of the call at this position; a call has at most one."""
    return known[position].world.injected[len(known[position - 1].world.injected) :]


def faults_of(session: LiveSession) -> Faults | None:
    """Return the faults for the next calls of a session, if any."""
    return Faults.parse(session.faults) if session.faults else None


def format_faults(faults: Faults | None) -> str:
    """Format faults as `Faults.parse` reads them; empty if no call would get any."""
    if faults is None or not any(faults.share(kind) for kind in KINDS):
        return ""
    return ",".join(f"{field.name}={getattr(faults, field.name)}" for field in fields(faults))


def check_opening(session: LiveSession, world: World) -> None:
    """Raise WorldDiffers if the calls of a session were made in another world than this one."""
    if session.opening and session.opening != world.digest():
        raise WorldDiffers


def build_initial_moment(session: LiveSession) -> Moment:
    """Return the session before its first call. Raises ServerGone."""
    if gone := [name for name in session.servers if name not in SERVERS]:
        raise ServerGone(", ".join(gone))
    return Moment(World.open(session.seed, tuple(session.servers), session.size))
