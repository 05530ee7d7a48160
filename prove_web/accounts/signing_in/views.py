"""Pages of one's own account: its sessions, data export, account deletion, and passkey forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from allauth.account.decorators import reauthentication_required
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.forms import (
    AddWebAuthnForm,
    AuthenticateWebAuthnForm,
    LoginWebAuthnForm,
    ReauthenticateWebAuthnForm,
)
from allauth.mfa.webauthn.internal.auth import parse_authentication_response
from allauth.mfa.webauthn.views import LoginWebAuthnView
from allauth.usersessions.models import UserSession
from cryptography.exceptions import InvalidSignature
from django import forms
from django.contrib import messages
from django.contrib.auth import logout
from django.db.models import QuerySet
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from ..account_deletion import close, in_the_way
from ..hooks import personal_data
from ..memberships import LastOwner
from ..models import Membership, Project, User
from ..permissions import signed_in
from .sessions import end, places
from .signals import log_account_event


@signed_in
@never_cache
@require_http_methods(["GET", "POST"])
def sessions(request: Any) -> HttpResponse:
    """List sessions; `session` ends one of them, `others` all but the current one."""
    here, data = request.session.session_key, request.POST
    if request.method == "POST":
        one = data.get("session", "")
        only = one if one.isascii() and one.isdecimal() and len(one) < 19 else None
        ended = end(request.user, here, only) if only or "others" in data else 0
        if ended:
            log_account_event(request.user, "signed out elsewhere as", browsers=ended)
            messages.success(request, f"Signed out of {ended} other browser{'s' * (ended != 1)}.")
        else:
            messages.info(request, "That browser was already signed out.")
        return redirect("account-sessions")
    return render(request, "accounts/sessions.html", {"places": places(request.user, here)})


# Data export: what the site knows of a user, as one JSON file.

MOST = 10_000  # of each kind, the newest


@signed_in
@never_cache
@require_GET
def account_data(request: Any) -> JsonResponse:
    headers = {"Content-Disposition": f'attachment; filename="prove-studio-{request.user.pk}.json"'}
    return JsonResponse(known_of(request.user), headers=headers, json_dumps_params={"indent": 2, "ensure_ascii": False})


def known_of(user: User) -> dict[str, Any]:
    """Return the user's data, without secrets or hashes of them; from projects, only what the user may see now."""
    of, seen = {"user": user}, Project.objects.filter_visible_to(user)
    return {
        "account": {
            **{name: getattr(user, name) for name in ("username", "email", "first_name", "last_name")},
            **{"since": user.date_joined, "last_signed_in": user.last_login},
        },
        "teams": list_newest_rows(Membership.objects.filter(**of), "organisation__name", "role", "since"),
        "second_factors": list_newest_rows(Authenticator.objects.filter(**of), "type", "created_at", "last_used_at"),
        "signed_in": list_newest_rows(
            UserSession.objects.filter(**of), "ip", "user_agent", "created_at", "last_seen_at"
        ),
        **{part.name: list_newest_rows(part.find(user, seen), *part.fields) for part in personal_data},
    }


def list_newest_rows(found: QuerySet, *fields: str) -> list[dict[str, Any]]:
    return list(found.order_by("-pk").values(*fields)[:MOST])


# Page that deletes one's account.


@signed_in
@never_cache
@require_http_methods(["GET", "POST"])
@reauthentication_required
def account_close(request: Any) -> HttpResponse:
    """Ask for the user name, since deletion is final."""
    user, typed = request.user, request.POST.get("typed", "").strip()
    obstacles = in_the_way(user)
    fault = ""
    if request.method == "POST":
        fault = "" if typed == user.username else f"To close the account, type your exact user name: {user.username}"
        if not fault and not obstacles:
            try:
                close(user)
            except LastOwner as error:
                fault = str(error)
            else:
                logout(request)
                messages.success(request, "Your account is closed.")
                return redirect("sign-in")
    context = {"typed": typed, "fault": fault, "obstacles": obstacles, "teams": user.organisations.order_by("name")}
    return render(request, "accounts/account_close.html", context, status=422 if request.method == "POST" else 200)


# Forms for passkey responses of browsers: malformed input is rejected without an error.

# Raised by the parser for unexpected input, and for a signature by another key.
MALFORMED = (KeyError, TypeError, ValueError, AttributeError, InvalidSignature)


def sound(look: Callable[[], Any]) -> Any:
    """Return the result of `look`. Raises ValidationError."""
    try:
        return look()
    except MALFORMED:
        raise forms.ValidationError("Invalid passkey.") from None


class AddPasskey(AddWebAuthnForm):
    """New passkey; with `passwordless` the device stores the account, and asks for a finger, a face or a PIN."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        alone = self.fields["passwordless"]
        alone.label, alone.initial = "Sign in without a password", True
        alone.help_text = "Clear this for a security key without a PIN; it then replaces only the code."

    def clean(self) -> Any:
        return sound(super().clean)


class AuthenticatePasskey(AuthenticateWebAuthnForm):
    def clean_credential(self) -> Any:
        return sound(super().clean_credential)


class ReauthenticatePasskey(ReauthenticateWebAuthnForm):
    def clean_credential(self) -> Any:
        return sound(super().clean_credential)


class SignInByPasskey(LoginWebAuthnForm):
    """Sign-in by a passkey that names the account itself; the device must have verified the user."""

    def clean_credential(self) -> Any:
        found = sound(super().clean_credential)
        credential = sound(lambda: parse_authentication_response(self.cleaned_data["credential"]))
        if not credential.response.authenticator_data.is_user_verified():
            raise forms.ValidationError("Invalid passkey.")
        return found


class PasskeySignInPage(LoginWebAuthnView):
    """GET returns the browser's passkey options, POST signs in with the passkey's response."""

    def form_valid(self, form: Any) -> HttpResponse:
        answer = super().form_valid(form)
        after = self.get_requested_page()
        return redirect(after) if after and self.request.user.is_authenticated else answer

    def form_invalid(self, form: Any) -> HttpResponse:
        messages.error(self.request, "This passkey is not registered here. Try another, or sign in with your password.")
        query = urlencode({"next": self.get_requested_page()}) if self.get_requested_page() else ""
        return redirect(f"{reverse('sign-in')}?{query}" if query else "sign-in")

    def get_requested_page(self) -> str:
        """Return the requested page if it is one of this site."""
        target: str = self.request.POST.get("next", "")
        here = {self.request.get_host()}
        return target if url_has_allowed_host_and_scheme(target, here, self.request.is_secure()) else ""
