"""The page that lists where one is signed in, and signs one out there."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from ..permissions import signed_in
from .sessions import end, places
from .signals import tell


@signed_in
@never_cache
@require_http_methods(["GET", "POST"])
def sessions(request: Any) -> HttpResponse:
    """`session` ends one of them, `others` all but the one at hand."""
    here, told = request.session.session_key, request.POST
    if request.method == "POST":
        one = told.get("session", "")
        only = one if one.isascii() and one.isdecimal() and len(one) < 19 else None
        ended = end(request.user, here, only) if only or "others" in told else 0
        if ended:
            tell(request.user, "signed out elsewhere as", browsers=ended)
            messages.success(request, f"Signed out of {ended} other browser{'s' * (ended != 1)}.")
        else:
            messages.info(request, "That browser was already signed out.")
        return redirect("account-sessions")
    return render(request, "accounts/sessions.html", {"places": places(request.user, here)})
