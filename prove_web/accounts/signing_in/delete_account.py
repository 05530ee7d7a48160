"""The page on which one closes one's account."""

from __future__ import annotations

from typing import Any

from allauth.account.decorators import reauthentication_required
from django.contrib import messages
from django.contrib.auth import logout
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from ..account_deletion import close, in_the_way
from ..memberships import LastOwner
from ..permissions import signed_in


@signed_in
@never_cache
@require_http_methods(["GET", "POST"])
@reauthentication_required
def account_close(request: Any) -> HttpResponse:
    """Asks for the user name, since there is no way back."""
    user, typed = request.user, request.POST.get("typed", "").strip()
    kept = in_the_way(user)
    fault = ""
    if request.method == "POST":
        fault = "" if typed == user.username else f"To close the account, type your exact user name: {user.username}"
        if not fault and not kept:
            try:
                close(user)
            except LastOwner as error:
                fault = str(error)
            else:
                logout(request)
                messages.success(request, "Your account is closed.")
                return redirect("sign-in")
    context = {"typed": typed, "fault": fault, "kept": kept, "teams": user.organisations.order_by("name")}
    return render(request, "accounts/account_close.html", context, status=422 if request.method == "POST" else 200)
