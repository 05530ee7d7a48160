"""Live sessions in the world of a rollout or a trajectory, after some of its calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db import transaction

from mcp_servers.catalogue import SERVERS, fingerprint
from mcp_servers.core import ToolError
from prove_web.accounts.models import Project, User
from training_worker.core.trajectory import Example, ExecutedCall, ToolCall

from .arguments import validate_arguments
from .models import LiveSession, SessionCall, Source
from .session_services import MOST_CALLS, TITLE

Made = tuple[ToolCall, bool, str]  # a call, whether it succeeded, and its result


class NoWorld(Exception):
    """Error if there is no world to open; the message says why."""


@transaction.atomic
def open_after(
    project: Project, user: User, example: Example, title: str, source: Source, made: Sequence[Made]
) -> LiveSession:
    """Return a session in the world of an example after these calls, with their recorded results. Raises NoWorld."""
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
    """Return the first ground-truth calls of an example, with their recorded results."""
    pairs = [
        (call, text)
        for step in example.steps
        for call, text in zip(step.calls, step.observations[: len(step.calls)], strict=False)
    ]
    return [(call, True, text) for call, text in pairs[:most]]


def of_rollout(calls: Iterable[ExecutedCall], most: int) -> list[Made]:
    """Return those of the first calls of a rollout that reached its world and that a session can store."""
    reached = [made for made in list(calls)[:most] if made.level and keepable(made.call)]
    return [(made.call, made.level == 3, made.observation) for made in reached]


def keepable(call: ToolCall) -> bool:
    try:
        return call.arguments is not None and validate_arguments(call.arguments) is not None
    except ToolError:
        return False


def stale(example: Example) -> bool:
    """Return whether its servers behaved differently at its creation, so that its world may differ now."""
    return fingerprint(example.world.servers) != example.fingerprint
