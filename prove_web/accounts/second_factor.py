"""Teams that ask their members for a second factor: from when on, who has none, and what those are told."""

from __future__ import annotations

from typing import Any

from allauth.mfa.models import Authenticator
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
DO = "Sign in, open “Account and second factor” and set up an authenticator app or add a passkey."


class SecondFactorNeeded(PermissionDenied):
    """A member without a second factor is at a page of a team that asks for one."""

    def __init__(self, organisation: Any):
        super().__init__(f"{organisation} requires a second factor, and you have none.")
        self.organisation = organisation


def owned(user: Any) -> QuerySet:
    """The second factors of one person; recovery codes are none."""
    return Authenticator.objects.filter(user=user.pk, type__in=FACTORS)


def exists(user: str) -> Exists:
    """Whether whoever this field names has one; for a query of members."""
    return Exists(Authenticator.objects.filter(user=OuterRef(user), type__in=FACTORS))


def open_now(organisation: str = "") -> Q:
    """The teams, or what a field leads to them from, that ask for none at this moment."""
    name = f"{organisation}__second_factor_from" if organisation else "second_factor_from"
    return Q(**{name: None}) | Q(**{f"{name}__gt": timezone.now()})


def lacks(user: Any, organisation: Any) -> bool:
    """Whether this person is kept out until they have one."""
    since = organisation.second_factor_from
    return since is not None and since <= timezone.now() and not owned(user).exists()


def due(user: Any, organisation: Any) -> Any:
    """The moment from which on this person would be kept out; None for who has one, and where none is asked for."""
    since = getattr(organisation, "second_factor_from", None)
    return since if since is not None and since > timezone.now() and not owned(user).exists() else None
