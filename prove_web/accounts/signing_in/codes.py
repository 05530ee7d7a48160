"""The forms that take a code of the second factor: wrong ones are counted with the wrong passwords of the account."""

from __future__ import annotations

from typing import Any

from allauth.core import context
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.totp.forms import ActivateTOTPForm
from axes.handlers.proxy import AxesProxyHandler
from django import forms
from django.contrib.auth.signals import user_login_failed

WIDGET = forms.TextInput(
    attrs={"autocomplete": "one-time-code", "inputmode": "text", "autocapitalize": "none", "spellcheck": "false"}
)


class Counted:
    """A form whose `code` is looked at only while the account is not locked."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["code"].widget = WIDGET
        self.fields["code"].label = "Code"
        self.fields["code"].help_text = "Of your authenticator app, or one of your recovery codes."

    def clean_code(self) -> str:
        name = {"username": self.user.username}
        if not AxesProxyHandler.is_allowed(context.request, name):
            raise forms.ValidationError("Too many wrong passwords or codes. Wait a quarter of an hour and try again.")
        try:
            return super().clean_code()
        except forms.ValidationError:
            user_login_failed.send(__name__, credentials=name, request=context.request)
            raise forms.ValidationError("This code is wrong, or too old: type the one that is shown now.") from None


class Authenticate(Counted, AuthenticateForm):
    """The second step of signing in."""


class Reauthenticate(Counted, ReauthenticateForm):
    """That it is still you, before the second factor is changed."""


class Activate(Counted, ActivateTOTPForm):
    """That the authenticator app has understood the secret."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["code"].help_text = "The six digits that the app shows now."
