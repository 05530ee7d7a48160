"""Offboarding: tokens, links and invitations of a member are revoked on leaving a team, or on losing the permission."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.utils import timezone

from prove_web.api.models import ApiToken
from prove_web.api.tokens import revoke as revoke_token
from prove_web.servers.models import ConnectToken
from prove_web.servers.tokens import revoke as revoke_connect_token
from prove_web.sharing.links import withdraw as withdraw_link
from prove_web.sharing.models import Share
from prove_web.workers.enrolment import revoke as revoke_machine
from prove_web.workers.models import Enrolment

from . import audit
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
        for name, action, rows, end in acting_for(membership, because[:80]):
            found = [] if role and role.covers(action) else list(rows)
            for one in found:
                end(one)
            ended.append((len(found), name))
    return [(number, name) for number, name in ended if number]


def preview_revocations(membership: Membership) -> Ended:
    """Return what would be revoked if the member left."""
    counted = ((rows.count(), name) for name, _, rows, _ in acting_for(membership, ""))
    return [(number, name if number == 1 else pluralize_name(name)) for number, name in counted if number]


def acting_for(membership: Membership, because: str) -> Iterable[tuple[str, Any, Any, Callable[[Any], object]]]:
    """Yield each kind of thing: its name, the permission of its creator, the active ones, and how to revoke one."""
    team, user = membership.organisation, membership.user
    machines = Enrolment.objects.filter(organisation=team, made_by=user, revoked_at=None)
    yield "invitation", Action.MANAGE, team.invitations.open().filter(made_by=user), withdraw_invitation
    yield "machine", Action.MANAGE, machines, revoke_machine
    links = (
        Share.objects.open().filter(project__organisation=team, made_by=user).select_related("project__organisation")
    )
    yield "share link", Action.LAUNCH, links, lambda link: withdraw_link(link, because)
    clients = ConnectToken.objects.filter(session__project__organisation=team, made_by=user, revoked_at=None)
    clients = clients.select_related("session__project__organisation")
    yield "session token", Action.ANNOTATE, clients, revoke_connect_token
    programs = ApiToken.objects.filter_valid().filter(organisation=team, user=user).select_related("organisation")
    yield "API token", Action.VIEW, programs, revoke_token


def withdraw_invitation(invitation: Invitation) -> None:
    invitation.withdrawn_at = timezone.now()
    invitation.save(update_fields=["withdrawn_at"])


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
