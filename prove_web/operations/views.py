"""Health, metrics, and the page for internal errors."""

from __future__ import annotations

import ipaddress
import sys
from hmac import compare_digest

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import loader
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client.exposition import choose_encoder

from prove_web.accounts.permissions import allow_anyone
from prove_web.core import database_busy
from prove_web.live.health import checks
from prove_web.supervisor.checks import FULL, less_free

from .collector import Everything

# Access to metrics: from this machine only, or with PROVE_METRICS_TOKEN for requests that carry the token.

TOKEN = "PROVE_METRICS_TOKEN"
PASSED_ON = ("Forwarded", "X-Forwarded-For", "X-Real-Ip")


def refusal(request: HttpRequest) -> str:
    """Return why the request may not read metrics; empty if it may."""
    if settings.METRICS_TOKEN:
        given = request.headers.get("Authorization", "")
        return "" if compare_digest(given.encode(), f"Bearer {settings.METRICS_TOKEN}".encode()) else wants_token()
    return "" if from_here(request) else f"Metrics are served only to this machine unless {TOKEN} is set."


def wants_token() -> str:
    return f"Send `Authorization: Bearer TOKEN` with the value of {TOKEN}."


def from_here(request: HttpRequest) -> bool:
    """Return whether the request comes directly from this machine and not through a proxy on it."""
    try:
        near = ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False
    return near and not any(request.headers.get(name) for name in PASSED_ON)


@allow_anyone
@never_cache
@require_safe
def alive(request: HttpRequest) -> HttpResponse:
    """Report that this process responds, without any checks."""
    return JsonResponse({"ok": True})


@allow_anyone
@never_cache
@require_safe
def report_readiness(request: HttpRequest) -> HttpResponse:
    """Return 200 if the site is ready, else 503 with the failed checks."""
    found = checks()
    well = all(check.ok for check in found)
    results = {check.name: {"ok": check.ok, "why": check.why} for check in found}
    return JsonResponse({"ok": well, "checks": results}, status=200 if well else 503)


@allow_anyone
@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Return all metrics in a Prometheus format."""
    if why := refusal(request):
        return HttpResponse(why + "\n", status=403, content_type="text/plain; charset=utf-8")
    encode, kind = choose_encoder(request.headers.get("Accept", ""))
    return HttpResponse(encode(Everything()), content_type=kind)


def render_server_error(request: HttpRequest) -> HttpResponse:
    """Respond with 500 and the request id, 503 if the database is locked, or 507 if the disk is full.

    The request id finds the cause in the log. Django calls it while handling an error, so it depends on nothing that
    may be broken.
    """
    context = {"request_id": getattr(request, "request_id", ""), "nonce": str(getattr(request, "csp_nonce", ""))}
    if database_busy.is_busy(sys.exc_info()[1]):
        page = loader.get_template("503.html").render(context | {"sentence": database_busy.SENTENCE})
        return HttpResponse(page, status=503, headers={"Retry-After": str(database_busy.RETRY_AFTER)})
    full = less_free(settings.PROVE_DATA, FULL)
    page = loader.get_template("500.html").render({**context, "disk_full": full})
    return HttpResponse(page, status=507 if full else 500)
