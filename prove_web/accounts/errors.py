"""Error pages for malformed or forbidden requests."""

from __future__ import annotations

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.defaults import bad_request as plain
from django.views.defaults import permission_denied as plainly_denied

from .second_factor import SecondFactorNeeded


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return 413 for a body over the size limit, else 400."""
    if isinstance(exception, RequestDataTooBig):
        return render(request, "413.html", status=413)
    return plain(request, exception)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return 403; a user without a required second factor is offered to set one up, at the URL of the page."""
    if isinstance(exception, SecondFactorNeeded):
        return render(request, "accounts/second_factor_needed.html", {"team": exception.organisation}, status=403)
    return plainly_denied(request, exception)
