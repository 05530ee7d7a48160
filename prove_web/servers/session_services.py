"""What people do with a live session: call a tool, fork it anywhere, start again, remove it. No call is taken back."""

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
from .world_cache import Moment, after, cache, check_opening, moments, written

MOST_TRIES = 20
MOST_CALLS = 5_000  # of one session: it is replayed whole where it is not cached
CLIENT = 80
TITLE = 80


class Busy(Exception):
    """Others called in this session at the same time, again and again."""


class Full(Exception):
    """A session has as many calls as one may have: a fork of its opening has room."""


def make(
    session: LiveSession, user: User, tool: str, arguments: dict[str, Any], client: str | None = None
) -> SessionCall:
    """Call a tool in the newest state. Of two calls at once, one comes first and the other sees what it did.

    `client` names the MCP client that calls; by hand there is none. Raises Busy, Full and NotRebuilt.
    """
    for _ in range(MOST_TRIES):
        if call := attempt(session, user, tool, arguments, client):
            transaction.on_commit(partial(hint_session, session.pk))
            return call
    raise Busy


def attempt(
    session: LiveSession, user: User, tool: str, arguments: dict[str, Any], client: str | None
) -> SessionCall | None:
    """The call, or None when another took its position meanwhile. Raises Full and NotRebuilt."""
    known = moments(session)
    if len(known) > MOST_CALLS:
        raise Full
    stored = LiveSession.objects.filter(pk=session.pk)
    faults, session.opening = stored.values_list("faults", "opening").first() or ("", "")
    check_opening(session, known[0].world)
    world = after(known[-1], faults)
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
    """A session that starts with the first `at` calls of this one, as they were recorded."""
    title = f"Fork of {session} at {f'call {at}' if at else 'the initial state'}"
    twin = copy(session, user, title, session.fingerprint, at)
    calls = list(session.calls.filter(position__lte=at))
    for call in calls:
        call.pk, call.session = None, twin
    SessionCall.objects.bulk_create(calls)
    return twin


def reset(session: LiveSession, user: User) -> LiveSession:
    """A fresh session in the same world; the old one stays as it is. Raises KeyError when a server of it is gone."""
    fresh = copy(session, user, session.title, fingerprint(session.servers), 0)
    transaction.on_commit(partial(hint_session, session.pk))
    return fresh


def copy(session: LiveSession, user: User, title: str, code: str, at: int) -> LiveSession:
    """A new session like this one, which leaves it after so many calls; without any."""
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
    """Have the next calls meet these faults. Those that were made keep theirs, so a replay is what it was."""
    session.faults = written(faults)
    session.save(update_fields=["faults"])
    transaction.on_commit(partial(hint_session, session.pk))


@transaction.atomic
def remove(session: LiveSession) -> None:
    """Remove a session with its calls. Its forks are then forks of what it was forked from."""
    at = Least("parent_at", session.parent_at)
    session.forks.update(parent_at=at, parent=session.parent)
    transaction.on_commit(partial(hint_session, session.pk))
    session.delete()
