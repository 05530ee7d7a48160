"""Adapters of allauth: no sign-up without an invitation, and the mapping of identities to accounts."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.contrib import messages
from django.contrib.auth import login
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from ..invitations import InvitationClosedError, find, join, matches_email
from ..memberships import free_name
from ..models import User

BACKEND = "prove_web.accounts.backends.NameOrAddress"
INVITED = "invitation"  # session key of the invitation link that the user followed


class AccountAdapter(DefaultAccountAdapter):
    """Adapter by which only owners and invitations create accounts."""

    def is_open_for_signup(self, request: Any) -> bool:
        return False

    def login(self, request: Any, user: User) -> None:
        login(request, user, BACKEND)

    def respond_user_inactive(self, request: Any, user: User) -> HttpResponse:
        return render_refusal(request, "inactive")


class IdentityAdapter(DefaultSocialAccountAdapter):
    """Adapter by which an external identity opens the account of its verified e-mail address, or one by invitation."""

    def pre_social_login(self, request: Any, sociallogin: Any) -> None:
        claims = sociallogin.account.extra_data
        subjects = {claims[part].get("sub") for part in ("userinfo", "id_token") if part in claims}
        if len(subjects) != 1:
            raise ImmediateHttpResponse(render_refusal(request, "mixed"))
        if sociallogin.is_existing or sociallogin.state.get("process") == "connect":
            return
        if not any(address.verified for address in sociallogin.email_addresses):
            raise ImmediateHttpResponse(render_refusal(request, "unverified"))

    def authenticate_by_email(self, sociallogin: Any) -> Any:
        """Accept only verified addresses: some sites send a string, and "false" is truthy."""
        for address in sociallogin.email_addresses:
            address.verified = address.verified in (True, "true")
        return super().authenticate_by_email(sociallogin)

    def is_open_for_signup(self, request: Any, sociallogin: Any) -> bool:
        email = sociallogin.user.email
        try:
            if matches_email(find(request.session.get(INVITED, "")), email):
                return True
        except InvitationClosedError:
            pass
        raise ImmediateHttpResponse(render_refusal(request, "unknown", email))

    @transaction.atomic
    def save_user(self, request: Any, sociallogin: Any, form: Any = None) -> User:
        user: User = sociallogin.user
        user.username = free_name(user.email)
        user.set_unusable_password()
        sociallogin.save(request)
        membership = join(request.session.pop(INVITED), user)
        role = membership.get_role_display().lower()
        messages.success(request, f"You joined {membership.organisation} as {role}.")
        return user

    def get_connect_redirect_url(self, request: Any, socialaccount: Any) -> str:
        return reverse("account")


def render_refusal(request: Any, why: str, email: str = "") -> HttpResponse:
    """Render the page that says why an identity opens no account here."""
    return render(request, "accounts/identity_refused.html", {"why": why, "email": email}, status=403)
