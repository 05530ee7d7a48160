"""Live sessions opened on what something else did: a rollout's or a trajectory's world, with its calls up to one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db import transaction

from mcp_servers.catalogue import SERVERS, fingerprint
from mcp_servers.kit import ToolError
from prove_web.accounts.models import Project, User
from training_worker.prove.trajectory import Example, ExecutedCall, ToolCall

from .arguments import checked
from .models import LiveSession, SessionCall, Source
from .session_services import MOST_CALLS, TITLE

Made = tuple[ToolCall, bool, str]  # a call, whether it did what was asked, and what it was answered


class NoWorld(Exception):
    """There is no world to open; the message says why."""


@transaction.atomic
def open_after(
    project: Project, user: User, example: Example, title: str, source: Source, made: Sequence[Made]
) -> LiveSession:
    """A session in the world of an example after these calls, as they were recorded. Raises NoWorld."""
    if example.source:
        raise NoWorld("Cannot open a session: this trajectory was imported and its tools are not available.")
    if any(name not in SERVERS for name in example.world.servers):
        raise NoWorld("Cannot open a session: it uses servers that are no longer available.")
    session = LiveSession.objects.create(
        project=project,
        title=title[:TITLE],
        servers=list(example.world.servers),
        seed=example.world.seed,
        size=example.world.size,
        fingerprint=fingerprint(example.world.servers),
        created_by=user,
        source=source,
    )
    calls = [
        SessionCall(
            session=session, position=at, tool=call.name, arguments=call.arguments, ok=ok, text=text, source=source
        )
        for at, (call, ok, text) in enumerate(made[:MOST_CALLS], 1)
    ]
    SessionCall.objects.bulk_create(calls)
    return session


def of_example(example: Example, most: int) -> list[Made]:
    """The ground-truth calls of an example up to this number, with what they were answered when it was made."""
    pairs = [
        (call, text)
        for step in example.steps
        for call, text in zip(step.calls, step.observations[: len(step.calls)], strict=False)
    ]
    return [(call, True, text) for call, text in pairs[:most]]


def of_rollout(calls: Iterable[ExecutedCall], most: int) -> list[Made]:
    """The calls of a rollout up to this number that reached its world, and that a session can keep."""
    reached = [made for made in list(calls)[:most] if made.level and keepable(made.call)]
    return [(made.call, made.level == 3, made.observation) for made in reached]


def keepable(call: ToolCall) -> bool:
    try:
        return call.arguments is not None and checked(call.arguments) is not None
    except ToolError:
        return False


def stale(example: Example) -> bool:
    """Whether it was made when its servers behaved otherwise, so that its world may differ from today's."""
    return fingerprint(example.world.servers) != example.fingerprint
