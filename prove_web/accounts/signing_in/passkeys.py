"""The forms that take what a browser says of a passkey: whatever it sends, it is refused and breaks nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from allauth.mfa.webauthn.forms import AddWebAuthnForm, AuthenticateWebAuthnForm, ReauthenticateWebAuthnForm
from cryptography.exceptions import InvalidSignature
from django import forms

# What the parser raises for what it does not expect, and what a signature by another key raises.
MALFORMED = (KeyError, TypeError, ValueError, AttributeError, InvalidSignature)


def sound(look: Callable[[], Any]) -> Any:
    """What is made of it. Raises ValidationError."""
    try:
        return look()
    except MALFORMED:
        raise forms.ValidationError("That is no passkey.") from None


class AddPasskey(AddWebAuthnForm):
    def clean(self) -> Any:
        return sound(super().clean)


class AuthenticatePasskey(AuthenticateWebAuthnForm):
    def clean_credential(self) -> Any:
        return sound(super().clean_credential)


class ReauthenticatePasskey(ReauthenticateWebAuthnForm):
    def clean_credential(self) -> Any:
        return sound(super().clean_credential)
