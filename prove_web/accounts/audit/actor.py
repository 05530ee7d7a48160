"""Who acts at the moment, in which request and from where."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

from prove_web.operations.context import present


@dataclass(frozen=True)
class Acting:
    """A person who is not the request's, and what there is to say of all they do."""

    actor: Any = None
    details: dict[str, Any] = field(default_factory=dict)


NOBODY_ELSE = Acting()
ACTING: ContextVar[Acting] = ContextVar("acting", default=NOBODY_ELSE)


def facts() -> dict[str, Any]:
    """The fields of an entry that say who, in which request and from where; for a program of the site nothing."""
    request, told = present(), ACTING.get()
    actor = told.actor or getattr(request, "user", None)
    known = getattr(actor, "pk", None) is not None
    return {
        "actor_id": actor.pk if known else None,
        "actor_email": actor.email if known else None,
        "cid": getattr(request, "request_id", None),
        "remote_addr": address(request.META.get("REMOTE_ADDR", "")) if request else None,
        "additional_data": told.details or None,
    }


def address(text: str) -> str | None:
    """An IP address; on a socket file there is none."""
    try:
        return str(ip_address(text))
    except ValueError:
        return None
