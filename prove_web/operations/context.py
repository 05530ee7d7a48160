"""Which request or job the present code runs for, so that a line of a log can say so."""

from __future__ import annotations

import re
import uuid
from contextvars import ContextVar
from typing import Any

from django.http import HttpRequest

REQUEST: ContextVar[HttpRequest | None] = ContextVar("request", default=None)
SANE = re.compile(r"[A-Za-z0-9._:+/=-]{1,64}")
HEADER = "X-Request-ID"


def request_id(request: HttpRequest) -> str:
    """The one that a proxy gave it, where that is short and plain; else a new one."""
    given = request.headers.get(HEADER, "")
    return given if SANE.fullmatch(given) else uuid.uuid4().hex


def present() -> HttpRequest | None:
    """The request that is being answered, if one is."""
    return REQUEST.get()


def about(request: Any) -> dict[str, Any]:
    """What is known of a request, without asking the database for more."""
    if not hasattr(request, "request_id"):
        return {}
    found: dict[str, Any] = {"request_id": request.request_id}
    user = getattr(request, "_cached_user", None)  # where Django keeps the person, once somebody asked who it is
    if user is not None and user.pk is not None:
        found["user"] = user.pk
    if request.resolver_match:
        found["view"] = request.resolver_match.view_name
        parts = request.resolver_match.kwargs
        if "project" in parts:
            found["project"] = f"{parts.get('organisation')}/{parts['project']}"
        if "job" in parts:
            found["job"] = str(parts["job"])
    return found
