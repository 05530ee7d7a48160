"""Actions on a live session: call a tool, fork at any call, reset, delete. Calls can't be undone."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Least

from mcp_servers.catalogue import fingerprint
from mcp_servers.faults import Faults
from prove_web.accounts.models import User
from prove_web.live.message_broker import hint_session

from .models import LiveSession, SessionCall, Source
from .world_cache import Moment, cache, check_opening, fork_world, format_faults, moments

MOST_TRIES = 20
MOST_CALLS = 5_000  # of one session, because all of them are replayed if it is not cached
CLIENT = 80
TITLE = 80


class SessionBusyError(Exception):
    """Concurrent calls in this session took the next position too often."""


class SessionFullError(Exception):
    """The session has the maximum number of calls; a fork of its initial state has room."""


def make(
    session: LiveSession, user: User, tool: str, arguments: dict[str, Any], client: str | None = None
) -> SessionCall:
    """Call a tool in the newest state. Concurrent calls are serialized: the later one sees the changes of the earlier.

    `client` names the MCP client; None for a manual call. Raises SessionBusyError, SessionFullError and NotRebuilt.
    """
    for _ in range(MOST_TRIES):
        if call := attempt(session, user, tool, arguments, client):
            transaction.on_commit(partial(hint_session, session.pk))
            return call
    raise SessionBusyError


def attempt(
    session: LiveSession, user: User, tool: str, arguments: dict[str, Any], client: str | None
) -> SessionCall | None:
    """Return the call, or None if another one took its position meanwhile. Raises SessionFullError and NotRebuilt."""
    known = moments(session)
    if len(known) > MOST_CALLS:
        raise SessionFullError
    stored = LiveSession.objects.filter(pk=session.pk)
    faults, session.opening = stored.values_list("faults", "opening").first() or ("", "")
    check_opening(session, known[0].world)
    world = fork_world(known[-1], faults)
    began = time.perf_counter_ns()
    reply = world.call(tool, arguments)
    took = (time.perf_counter_ns() - began) // 1000
    call = SessionCall(
        session=session,
        position=len(known),
        tool=tool,
        arguments=arguments,
        ok=reply.ok,
        text=reply.text,
        made_by=user,
        took_us=took,
        source=Source.HAND if client is None else Source.MCP,
        client=(client or "")[:CLIENT],
        faults=faults,
    )
    try:
        with transaction.atomic():
            call.save(force_insert=True)
            if not session.opening:
                session.opening = known[0].world.digest()
                stored.filter(opening="").update(opening=session.opening)
    except IntegrityError:
        return None
    cache.put(session, (*known, Moment(world)))
    return call


@transaction.atomic
def fork(session: LiveSession, user: User, at: int) -> LiveSession:
    """Return a session that starts with the first `at` calls of this one, with their recorded results."""
    title = f"Fork of {session} at {f'call {at}' if at else 'the initial state'}"
    twin = copy(session, user, title, session.fingerprint, at)
    calls = list(session.calls.filter(position__lte=at))
    for call in calls:
        call.pk, call.session = None, twin
    SessionCall.objects.bulk_create(calls)
    return twin


def reset(session: LiveSession, user: User) -> LiveSession:
    """Return a fresh session in the same world; the old one stays. Raises KeyError if one of its servers is gone."""
    fresh = copy(session, user, session.title, fingerprint(session.servers), 0)
    transaction.on_commit(partial(hint_session, session.pk))
    return fresh


def copy(session: LiveSession, user: User, title: str, code: str, at: int) -> LiveSession:
    """Return a new session like this one, forked after `at` calls, without copying the calls."""
    return LiveSession.objects.create(
        project=session.project,
        title=title[:TITLE],
        servers=session.servers,
        seed=session.seed,
        size=session.size,
        fingerprint=code,
        created_by=user,
        source=Source.FORK,
        opening=session.opening if at else "",
        faults=session.faults,
        parent=session,
        parent_at=at,
    )


def set_faults(session: LiveSession, faults: Faults | None) -> None:
    """Set the faults for the next calls. Earlier calls keep theirs, so a replay gives the same results."""
    session.faults = format_faults(faults)
    session.save(update_fields=["faults"])
    transaction.on_commit(partial(hint_session, session.pk))


@transaction.atomic
def remove(session: LiveSession) -> None:
    """Delete a session with its calls. Its forks become forks of its parent."""
    at = Least("parent_at", session.parent_at)
    session.forks.update(parent_at=at, parent=session.parent)
    transaction.on_commit(partial(hint_session, session.pk))
    session.delete()
