"""What a person sees of a request that makes no sense."""

from __future__ import annotations

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.defaults import bad_request as plain
from django.views.defaults import permission_denied as plainly_denied

from .second_factor import SecondFactorNeeded


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """413 for more than the site reads, 400 for everything else."""
    if isinstance(exception, RequestDataTooBig):
        return render(request, "413.html", status=413)
    return plain(request, exception)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403; who lacks a second factor is led to setting one up, at the address of the page they wanted."""
    if isinstance(exception, SecondFactorNeeded):
        return render(request, "accounts/second_factor_needed.html", {"team": exception.organisation}, status=403)
    return plainly_denied(request, exception)
