"""What a person sees of a request that makes no sense."""

from __future__ import annotations

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.defaults import bad_request as plain


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """413 for more than the site reads, 400 for everything else."""
    if isinstance(exception, RequestDataTooBig):
        return render(request, "413.html", status=413)
    return plain(request, exception)
