"""The current request or job, for log records."""

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
    """Return the id given by a proxy if it is short and plain, else a new one."""
    given = request.headers.get(HEADER, "")
    return given if SANE.fullmatch(given) else uuid.uuid4().hex


def present() -> HttpRequest | None:
    """Return the request being handled, if any."""
    return REQUEST.get()


def get_request_log_fields(request: Any) -> dict[str, Any]:
    """Return what is known of a request without database queries."""
    if not hasattr(request, "request_id"):
        return {}
    found: dict[str, Any] = {"request_id": request.request_id}
    user = getattr(request, "_cached_user", None)  # Django's cache of the user, once accessed
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
