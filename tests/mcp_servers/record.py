"""A recorded walk: each call with what was true just before and just after it, so that laws can be read off."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from mcp_servers.core import Reply, Server, Session
from mcp_servers.core.random_walk import Call, Walker
from mcp_servers.core.state import MODULUS, computed_hash

HELD_OUT = 1_000_000_000
SMALL = [*range(12), *range(HELD_OUT, HELD_OUT + 4)]
DEFAULT = [*range(3), HELD_OUT]
LONG, STEPS = range(100, 116), 120


@dataclass(frozen=True)
class Moment:
    """One call, the digests before and after it, and the names of the invariants that its state breaks."""

    tool: str
    arguments: str
    reply: Reply
    before: str
    after: str
    broken: list[str]


@dataclass(frozen=True)
class Record:
    """A walk on one server, and the session after it."""

    server: Server[Any]
    seed: int
    size: str
    opening: str
    moments: list[Moment]
    session: Session[Any]

    @property
    def calls(self) -> list[Call]:
        return [(moment.tool, moment.arguments) for moment in self.moments]

    @property
    def replies(self) -> list[Reply]:
        return [moment.reply for moment in self.moments]


@cache
def record(server: Server[Any], seed: int, size: str, steps: int, key: str = "") -> Record:
    """Walk a fresh session of this world; `key` tells apart several walks in the same world."""
    session = server.open(seed, size)
    opening, moments, broken = session.state.full_digest(), [], server.find_broken_invariants(session.state)
    walker = Walker(server.tools, [session.state], server.name, seed, size, key)
    for _ in range(steps):
        before, step = session.digest(), walker.walk(session)
        assert step.reply is not None
        after = session.digest()
        broken = broken if after == before else server.find_broken_invariants(session.state)
        moments.append(Moment(step.tool, step.arguments, step.reply, before, after, broken))
    return Record(server, seed, size, opening, moments, session)


def recompute_digests(session: Session[Any]) -> list[str]:
    """Return the digest of every step from what its rows hold now. A row that many steps share is hashed once."""
    digests: list[str] = []
    hashes: dict[tuple[str, int], int] = {}
    for step in session.history():
        if step.previous is not None and step.state is step.previous.state:
            digests.append(digests[-1])
            continue
        state = step.state.draft()
        for name, table in state.tables().items():
            total = 0
            for row in table:
                key = (name, id(row))
                if key not in hashes:
                    hashes[key] = computed_hash(table, row)
                total += hashes[key]
            table.tally = (total % MODULUS, [])
        digests.append(state.digest())
    return digests


def walks(server: Server[Any]) -> list[Record]:
    """The walks that the laws are held against."""
    small = [record(server, seed, "small", 60) for seed in SMALL]
    return small + [record(server, seed, "default", 40) for seed in DEFAULT]


@cache
def long_walks(server: Server[Any]) -> list[Session[Any]]:
    """Sessions after many calls, without the digests in between."""
    sessions = [server.open(seed, "small") for seed in LONG]
    for seed, session in zip(LONG, sessions, strict=True):
        walker = Walker(server.tools, [session.state], "long", server.name, seed)
        for _ in range(STEPS):
            walker.walk(session)
    return sessions


def invariants_hold(walked: Record) -> None:
    for number, moment in enumerate(walked.moments, 1):
        assert not moment.broken, f"step {number}, {moment.tool}, breaks {moment.broken}"


def reads_and_refusals_change_nothing(walked: Record) -> None:
    for number, moment in enumerate(walked.moments, 1):
        if not moment.reply.ok or not walked.server.tools[moment.tool].writes:
            assert moment.after == moment.before, f"step {number}, {moment.tool}, changed the state"
            assert walked.session.diff(number - 1, number) == {}


def states_are_immutable(walked: Record) -> None:
    """The digest of each state is still that of its rows."""
    then = [walked.opening, *(moment.after for moment in walked.moments)]
    assert recompute_digests(walked.session) == then, "an earlier state is not what it was"


def an_idempotent_call_twice_is_as_once(walked: Record) -> None:
    for number, moment in enumerate(walked.moments, 1):
        if moment.reply.ok and walked.server.tools[moment.tool].idempotent:
            then = walked.session.get_step(number - 1).state.now  # what time alone does is no effect of the call
            assert not changes_once_more(walked, number, then), f"step {number}, {moment.tool}, is not idempotent"


def changes_once_more(walked: Record, number: int, now: datetime | None = None) -> bool:
    """Whether the call of a step, made once more right after it, changes any row; with `now` as if at that time."""
    moment, once = walked.moments[number - 1], walked.session.get_step(number).state
    session = Session.start(walked.server, once.draft(now=now))
    session.call(moment.tool, moment.arguments)
    return session.state.tables_digest() != once.tables_digest()
