"""Current actor, with the request and its origin."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

from prove_web.core.request_context import present


@dataclass(frozen=True)
class ActorOverride:
    """An actor other than the request's user, and details for all of their entries."""

    actor: Any = None
    details: dict[str, Any] = field(default_factory=dict)


NOBODY_ELSE = ActorOverride()
ACTING: ContextVar[ActorOverride] = ContextVar("acting", default=NOBODY_ELSE)


def facts() -> dict[str, Any]:
    """Return the fields of an entry for actor, request and origin; empty ones for an action of the site itself."""
    request, acting = present(), ACTING.get()
    actor = acting.actor or getattr(request, "user", None)
    known = getattr(actor, "pk", None) is not None
    return {
        "actor_id": actor.pk if known else None,
        "actor_email": actor.email if known else None,
        "cid": getattr(request, "request_id", None),
        "remote_addr": address(request.META.get("REMOTE_ADDR", "")) if request else None,
        "additional_data": acting.details or None,
    }


def address(text: str) -> str | None:
    """Parse an IP address; None for a socket file."""
    try:
        return str(ip_address(text))
    except ValueError:
        return None
