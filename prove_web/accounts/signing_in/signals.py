"""Audit log entries for changes of sign-in settings, in each of the user's teams."""

from __future__ import annotations

from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added, authenticator_removed
from allauth.socialaccount.signals import social_account_added
from axes.signals import user_locked_out
from django.dispatch import receiver

from .. import audit
from ..models import User

SECOND = "a second factor of"


def log_account_event(user: User, did: str, **details: Any) -> None:
    for organisation in user.organisations.all():
        audit.note(user, did, user, organisation, **details)


@receiver(authenticator_added)
def second_factor_on(user: User, authenticator: Authenticator, **rest: Any) -> None:
    if authenticator.type != Authenticator.Type.RECOVERY_CODES:
        log_account_event(user, f"set up {SECOND}")


@receiver(authenticator_removed)
def second_factor_off(user: User, authenticator: Authenticator, **rest: Any) -> None:
    if authenticator.type != Authenticator.Type.RECOVERY_CODES:
        log_account_event(user, f"took away {SECOND}")


@receiver(user_locked_out)
def log_lockout(username: str, **rest: Any) -> None:
    """Log a lockout after too many wrong passwords or codes.

    A single failure is not logged: the time that takes would reveal who has an account.
    """
    if user := User.objects.filter(username__iexact=username or "").first():
        for organisation in user.organisations.all():
            audit.note(None, "locked for a while", user, organisation)


@receiver(social_account_added)
def identity_connected(sociallogin: Any, **rest: Any) -> None:
    log_account_event(sociallogin.user, "connected another site to")
