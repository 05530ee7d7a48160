"""Offboarding: tokens, links and invitations of a member are revoked on leaving a team, or on losing the permission."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from . import audit
from .hooks import Revocable, revocables
from .models import Invitation, Membership
from .roles import Action, Role

Ended = list[tuple[int, str]]  # count and kind


def end_all(membership: Membership, role: Role | None) -> Ended:
    """Revoke what the member created and the new role may not create; None is leaving.

    What belongs to the team stays.
    """
    because = f"{membership.user} is {role.label.lower()} now" if role else f"{membership.user} left the team"
    ended = []
    with audit.override_actor(None, because=because):
        for kind in sort_revocables():
            found = [] if role and role.covers(kind.action) else list(find_active(kind, membership))
            for one in found:
                kind.revoke(one, because[:80])
            ended.append((len(found), kind.name))
    return [(number, name) for number, name in ended if number]


def preview_revocations(membership: Membership) -> Ended:
    """Return what would be revoked if the member left."""
    counted = ((find_active(kind, membership).count(), kind.name) for kind in sort_revocables())
    return [(number, name if number == 1 else pluralize_name(name)) for number, name in counted if number]


def sort_revocables() -> list[Revocable]:
    """Return all kinds, those that need the highest role first."""
    return sorted(revocables, key=lambda kind: (-list(Action).index(kind.action), kind.name))


def find_active(kind: Revocable, membership: Membership) -> QuerySet[Any]:
    return kind.find(membership.organisation, membership.user)


def withdraw_invitation(invitation: Invitation, because: str = "") -> None:
    invitation.withdrawn_at = timezone.now()
    invitation.save(update_fields=["withdrawn_at"])


revocables.append(
    Revocable(
        "invitation",
        Action.MANAGE,
        lambda team, user: team.invitations.open().filter(made_by=user),
        withdraw_invitation,
    )
)


def describe_ended(ended: Ended) -> str:
    """Return what was revoked, as a sentence to append; "" if nothing was."""
    if not ended:
        return ""
    parts = [f"{number} {pluralize_name(name) if number != 1 else name}" for number, name in ended]
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f" Revoked: {listed}."


def pluralize_name(name: str) -> str:
    head, of, rest = name.partition(" of ")
    return f"{head}s{of}{rest}"
