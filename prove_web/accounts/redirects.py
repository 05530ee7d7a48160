"""Redirect to the page that a button was on."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme


def going_back(request: HttpRequest, otherwise: str) -> HttpResponseRedirect:
    """Redirect to the form's `next` if it is a URL of this site, else to `otherwise`."""
    wanted = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    # A name without a slash is not a URL: `redirect` would take it for a view's.
    return HttpResponseRedirect(wanted if safe and wanted.startswith("/") else otherwise)
