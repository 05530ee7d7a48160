"""A recorded walk: each call with what was true just before and just after it, so that laws can be read off."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from mcp_servers.kit import Reply, Server, Session
from mcp_servers.kit.walk import Call, Walker

HELD_OUT = 1_000_000_000
SMALL = [*range(12), *range(HELD_OUT, HELD_OUT + 4)]
DEFAULT = [*range(3), HELD_OUT]


@dataclass(frozen=True)
class Moment:
    """One call and the digests around it; `full` and `broken` are computed anew from all rows, right after it."""

    tool: str
    arguments: str
    reply: Reply
    before: str
    after: str
    full: str
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
    opening, moments = session.state.full_digest(), []
    walker = Walker(server.tools, [session.state], server.name, seed, size, key)
    for _ in range(steps):
        before, step = session.digest(), walker.walk(session)
        assert step.reply is not None
        after, full, broken = session.digest(), session.state.full_digest(), server.broken(session.state)
        moments.append(Moment(step.tool, step.arguments, step.reply, before, after, full, broken))
    return Record(server, seed, size, opening, moments, session)


def walks(server: Server[Any]) -> list[Record]:
    """The walks that the laws are held against."""
    small = [record(server, seed, "small", 60) for seed in SMALL]
    return small + [record(server, seed, "default", 40) for seed in DEFAULT]


def invariants_hold(walked: Record) -> None:
    for number, moment in enumerate(walked.moments, 1):
        assert not moment.broken, f"step {number}, {moment.tool}, breaks {moment.broken}"


def reads_and_refusals_change_nothing(walked: Record) -> None:
    for number, moment in enumerate(walked.moments, 1):
        if not moment.reply.ok or not walked.server.tools[moment.tool].writes:
            assert moment.after == moment.before, f"step {number}, {moment.tool}, changed the state"
            assert walked.session.diff(number - 1, number) == {}


def the_past_is_kept(walked: Record) -> None:
    then = [walked.opening, *(moment.full for moment in walked.moments)]
    now = [step.state.full_digest() for step in walked.session.history()]
    assert now == then, "an earlier state is not what it was"


def the_digest_is_up_to_date(walked: Record) -> None:
    for number, moment in enumerate(walked.moments, 1):
        assert moment.after == moment.full, f"step {number}, {moment.tool}, left a digest that its rows do not have"


def an_idempotent_call_twice_is_as_once(walked: Record) -> None:
    for number, moment in enumerate(walked.moments, 1):
        if moment.reply.ok and walked.server.tools[moment.tool].idempotent:
            then = walked.session.at(number - 1).state.now  # what time alone does is no effect of the call
            assert not changes_once_more(walked, number, then), f"step {number}, {moment.tool}, is not idempotent"


def changes_once_more(walked: Record, number: int, now: datetime | None = None) -> bool:
    """Whether the call of a step, made once more right after it, changes any row; with `now` as if at that time."""
    moment, once = walked.moments[number - 1], walked.session.at(number).state
    session = Session.start(walked.server, once.draft(now=now))
    session.call(moment.tool, moment.arguments)
    return session.state.tables_digest() != once.tables_digest()
