"""What people do with a live session: call a tool, fork it anywhere, start again, remove it. No call is taken back."""

from __future__ import annotations

import time
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Least

from mcp_servers.catalogue import fingerprint
from prove_web.accounts.models import User

from .models import LiveSession, SessionCall, Source
from .worlds import Moment, cache, moments

MOST_TRIES = 20
TITLE = 80


class Busy(Exception):
    """Others called in this session at the same time, again and again."""


def make(session: LiveSession, user: User, tool: str, arguments: dict[str, Any]) -> SessionCall:
    """Call a tool in the newest state. Of two calls at once, one comes first and the other sees what it did.

    Raises Busy.
    """
    for _ in range(MOST_TRIES):
        if call := attempt(session, user, tool, arguments):
            return call
    raise Busy


def attempt(session: LiveSession, user: User, tool: str, arguments: dict[str, Any]) -> SessionCall | None:
    """The call, or None when another took its position meanwhile."""
    known = moments(session)
    world = known[-1].world.fork()
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
    )
    try:
        with transaction.atomic():
            call.save(force_insert=True)
    except IntegrityError:
        return None
    cache.put(session, (*known, Moment(world)))
    return call


@transaction.atomic
def fork(session: LiveSession, user: User, at: int) -> LiveSession:
    """A session that starts with the first `at` calls of this one, as they were recorded."""
    title = f"Fork of {session} at {f'call {at}' if at else 'the opening'}"
    twin = copy(session, user, title, session.fingerprint, at)
    calls = list(session.calls.filter(position__lte=at))
    for call in calls:
        call.pk, call.session = None, twin
    SessionCall.objects.bulk_create(calls)
    return twin


def reset(session: LiveSession, user: User) -> LiveSession:
    """A fresh session in the same world; the old one stays as it is. Raises KeyError when a server of it is gone."""
    return copy(session, user, session.title, fingerprint(session.servers), 0)


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
        parent=session,
        parent_at=at,
    )


@transaction.atomic
def remove(session: LiveSession) -> None:
    """Remove a session with its calls. Its forks are then forks of what it was forked from."""
    at = Least("parent_at", session.parent_at)
    session.forks.update(parent_at=at, parent=session.parent)
    session.delete()
