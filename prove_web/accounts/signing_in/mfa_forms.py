"""Forms for a code of the second factor: wrong codes count together with the account's wrong passwords."""

from __future__ import annotations

from collections.abc import Callable

from allauth.core import context
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.totp.forms import ActivateTOTPForm
from axes.handlers.proxy import AxesProxyHandler
from django import forms
from django.contrib.auth.signals import user_login_failed

from ..models import User
from .signals import log_account_event

EITHER = "From your authenticator app, or a recovery code."
PLAIN = {"autocomplete": "one-time-code", "autocapitalize": "none", "spellcheck": "false"}


def code_field(help_text: str) -> forms.CharField:
    return forms.CharField(label="Code", max_length=40, help_text=help_text, widget=forms.TextInput(attrs=PLAIN))


def check_code_unless_locked(user: User, look: Callable[[], str]) -> str:
    """Return the code, which is checked only while the account is not locked. Raises ValidationError."""
    name = {"username": user.username}
    if not AxesProxyHandler.is_allowed(context.request, name):
        raise forms.ValidationError("Too many wrong passwords or codes. Wait 15 minutes and try again.")
    try:
        return look()
    except forms.ValidationError:
        user_login_failed.send(__name__, credentials=name, request=context.request)
        log_account_event(user, "typed a wrong code for")
        raise forms.ValidationError("Wrong or expired code. Enter the current one.") from None


class Authenticate(AuthenticateForm):
    """Second step of signing in."""

    code = code_field(EITHER)

    def clean_code(self) -> str:
        return check_code_unless_locked(self.user, super().clean_code)


class Reauthenticate(ReauthenticateForm):
    """Confirmation of the user's identity before the second factor is changed."""

    code = code_field(EITHER)

    def clean_code(self) -> str:
        return check_code_unless_locked(self.user, super().clean_code)


class Activate(ActivateTOTPForm):
    """Confirmation that the authenticator app has the secret."""

    code = code_field("The six digits shown in the app.")

    def clean_code(self) -> str:
        return check_code_unless_locked(self.user, super().clean_code)
