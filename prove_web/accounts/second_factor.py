"""Second factor requirement of teams: since when, who lacks one, and the instructions for them."""

from __future__ import annotations

from typing import Any

from allauth.mfa.models import Authenticator
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
DO = "Sign in, open “Account and second factor” and set up an authenticator app or add a passkey."


class SecondFactorNeeded(PermissionDenied):
    """Error of a member without a second factor on a page of a team that requires one."""

    def __init__(self, organisation: Any):
        super().__init__(f"{organisation} requires a second factor, and you have none.")
        self.organisation = organisation


def get_second_factors(user: Any) -> QuerySet:
    """Return a user's second factors, not counting recovery codes."""
    return Authenticator.objects.filter(user=user.pk, type__in=FACTORS)


def exists(user: str) -> Exists:
    """Return whether the user in this field has a second factor; for a query of members."""
    return Exists(Authenticator.objects.filter(user=OuterRef(user), type__in=FACTORS))


def open_now(organisation: str = "") -> Q:
    """Match teams that currently require no second factor; `organisation` is the field that leads to the team."""
    name = f"{organisation}__second_factor_from" if organisation else "second_factor_from"
    return Q(**{name: None}) | Q(**{f"{name}__gt": timezone.now()})


def needs_second_factor(user: Any, organisation: Any) -> bool:
    """Return whether this user has no access until a second factor is set up."""
    since = organisation.second_factor_from
    return since is not None and since <= timezone.now() and not get_second_factors(user).exists()


def due(user: Any, organisation: Any) -> Any:
    """Return the time from which this user would lose access; None with a second factor or without a requirement."""
    since = getattr(organisation, "second_factor_from", None)
    return since if since is not None and since > timezone.now() and not get_second_factors(user).exists() else None
