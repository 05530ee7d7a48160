"""The forms that take what a browser says of a passkey: whatever it sends, it is refused and breaks nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from allauth.mfa.webauthn.forms import (
    AddWebAuthnForm,
    AuthenticateWebAuthnForm,
    LoginWebAuthnForm,
    ReauthenticateWebAuthnForm,
)
from allauth.mfa.webauthn.internal.auth import parse_authentication_response
from allauth.mfa.webauthn.views import LoginWebAuthnView
from cryptography.exceptions import InvalidSignature
from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode

# What the parser raises for what it does not expect, and what a signature by another key raises.
MALFORMED = (KeyError, TypeError, ValueError, AttributeError, InvalidSignature)


def sound(look: Callable[[], Any]) -> Any:
    """What is made of it. Raises ValidationError."""
    try:
        return look()
    except MALFORMED:
        raise forms.ValidationError("Invalid passkey.") from None


class AddPasskey(AddWebAuthnForm):
    """With `passwordless` the device keeps who it is for, and asks for a finger, a face or a PIN."""

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
    """It names the account itself; that its person was there, the device has to have seen."""

    def clean_credential(self) -> Any:
        found = sound(super().clean_credential)
        told = sound(lambda: parse_authentication_response(self.cleaned_data["credential"]))
        if not told.response.authenticator_data.is_user_verified():
            raise forms.ValidationError("Invalid passkey.")
        return found


class PasskeySignInPage(LoginWebAuthnView):
    """GET gives what the browser asks a passkey for, POST signs in by what it said."""

    def form_valid(self, form: Any) -> HttpResponse:
        answer = super().form_valid(form)
        after = self.after()
        return redirect(after) if after and self.request.user.is_authenticated else answer

    def form_invalid(self, form: Any) -> HttpResponse:
        messages.error(self.request, "This passkey is not registered here. Try another, or sign in with your password.")
        query = urlencode({"next": self.after()}) if self.after() else ""
        return redirect(f"{reverse('sign-in')}?{query}" if query else "sign-in")

    def after(self) -> str:
        """Where one wanted to go, if that is a page of this site."""
        told: str = self.request.POST.get("next", "")
        here = {self.request.get_host()}
        return told if url_has_allowed_host_and_scheme(told, here, self.request.is_secure()) else ""
