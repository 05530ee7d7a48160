"""Sessions and calls for the tests of a server: a world with changed rows, calls that work, calls that are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from mcp_servers.kit import Server, Session

Refusal = tuple[str, dict[str, Any], str]  # a tool, its arguments, and the code it refuses them with


def world_with(
    server: Server[Any], change: Callable[[Any], object], seed: int = 7, size: str = "small"
) -> Session[Any]:
    """Open a session in the world of this seed with its rows changed. Fails if the new state breaks an invariant."""
    session = server.open(seed, size)
    change_state(session, change)
    return Session.start(server, session.state)


def change_state(session: Session[Any], change: Callable[[Any], object], **ahead: int) -> Session[Any]:
    """Change rows of a session's state without a call, and move its clock ahead: `change_state(..., minutes=5)`."""
    state = session.state.draft("a change by a test", now=session.state.now + timedelta(**ahead))
    change(state)
    assert session.server.broken(state) == [], "the changed rows break an invariant"
    session.head = replace(session.head, state=state)
    return session


def later(session: Session[Any], minutes: int = 0, **ahead: int) -> Session[Any]:
    """Move the clock of a session ahead without a call."""
    return change_state(session, lambda state: None, minutes=minutes, **ahead)


def do(session: Session[Any], tool: str, now: datetime | None = None, **arguments: Any) -> Any:
    """The result of a call that works and leaves every invariant whole; `now` sets a later clock first."""
    reply = session.call(tool, arguments, now=now)
    assert reply.ok, reply.text
    assert session.server.broken(session.state) == []
    return reply.data


def refused(session: Session[Any], tool: str, now: datetime | None = None, **arguments: Any) -> str:
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
