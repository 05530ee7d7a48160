"""Who may read the measurements: this machine alone, or with PROVE_METRICS_TOKEN whoever sends it."""

from __future__ import annotations

import ipaddress
from hmac import compare_digest

from django.conf import settings
from django.http import HttpRequest

TOKEN = "PROVE_METRICS_TOKEN"
PASSED_ON = ("Forwarded", "X-Forwarded-For", "X-Real-Ip")


def refusal(request: HttpRequest) -> str:
    """Why this request may not read them; empty when it may."""
    if settings.METRICS_TOKEN:
        given = request.headers.get("Authorization", "")
        return "" if compare_digest(given.encode(), f"Bearer {settings.METRICS_TOKEN}".encode()) else wants_token()
    return "" if from_here(request) else f"Metrics are served only to this machine unless {TOKEN} is set."


def wants_token() -> str:
    return f"Send `Authorization: Bearer TOKEN` with the value of {TOKEN}."


def from_here(request: HttpRequest) -> bool:
    """Whether it comes from this machine itself, and is not what a proxy on it passes on for somebody."""
    try:
        near = ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False
    return near and not any(request.headers.get(name) for name in PASSED_ON)
