"""Sessions and calls for the tests of a server: a world with changed rows, calls that work, calls that are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from mcp_servers.core import Server, Session

Refusal = tuple[str, dict[str, Any], str]  # a tool, its arguments, and the code it refuses them with


def small_worlds(server: Server[Any], size: str = "small") -> Iterator[Session[Any]]:
    """Open the first ten worlds, whose rows examples may take. What none of them has, a test makes by `world_with`."""
    return (server.open(seed, size) for seed in range(10))


def find_row(
    server: Server[Any], table: str, wanted: Callable[[Any, Any], bool], size: str = "small"
) -> tuple[Session[Any], Any]:
    """Open the first of these worlds with such a row, and return the session and the row."""
    for session in small_worlds(server, size):
        for row in session.state.tables()[table]:
            if wanted(session.state, row):
                return session, row
    raise LookupError(f"None of the first worlds of {server.name} has such a row in {table}: make one by world_with.")


def world_with(
    server: Server[Any], change: Callable[[Any], object], seed: int = 7, size: str = "small"
) -> Session[Any]:
    """Open a world with its rows changed, as if it had begun so. Fails if the new state breaks an invariant."""
    return change_state(server.open(seed, size), change)


def change_state(session: Session[Any], change: Callable[[Any], object]) -> Session[Any]:
    """Change rows of a session without a call, as if its world had begun so. Fails if that breaks an invariant."""
    state = session.state.draft("a change by a test")
    change(state)
    return go_on(session, state.settle())


def later(session: Session[Any], minutes: int = 0, **ahead: int) -> Session[Any]:
    """Move the clock of a session ahead without a call."""
    return go_on(session, session.state.draft(now=session.state.now + timedelta(minutes=minutes, **ahead)))


def go_on(session: Session[Any], state: Any) -> Session[Any]:
    """Put a state in the place of the session's. Fails if it breaks an invariant."""
    assert session.server.find_broken_invariants(state) == [], "the changed rows break an invariant"
    session.head = replace(session.head, state=state)
    return session


def do(session: Session[Any], tool: str, /, now: datetime | None = None, **arguments: Any) -> Any:
    """Return the result of a call that works and leaves every invariant intact; `now` sets a later clock first."""
    reply = session.call(tool, arguments, now=now)
    assert reply.ok, reply.text
    assert session.server.find_broken_invariants(session.state) == []
    return reply.data


def refused(session: Session[Any], tool: str, /, now: datetime | None = None, **arguments: Any) -> str:
    """The code of a refusal, which must leave everything as it was."""
    before, reply = session.digest(), session.call(tool, arguments, now=now)
    assert not reply.ok, reply.text
    assert session.digest() == before
    return str(reply.data["error"])


def check_refusals(session: Session[Any], refusals: Iterable[Refusal]) -> None:
    """Fail unless each call of the table is refused with its code and changes nothing; name every one that is not."""
    digest, wrong = session.digest(), []
    for tool, arguments, code in refusals:
        reply = session.fork().call(tool, arguments)
        if reply.ok or reply.data["error"] != code:
            wrong.append(f"{tool} {arguments}: {code} expected, {reply.text}")
    assert not wrong, "\n".join(wrong)
    assert session.digest() == digest
