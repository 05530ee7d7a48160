"""Invitations: links from an owner by which people join a team with a fixed role."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from .audit import override_actor
from .memberships import free_name, lock_organisation
from .models import Invitation, Membership, Organisation, User

BYTES = 32
UNDO = timedelta(days=1)  # for which a withdrawn one can be restored


class InvitationClosedError(Exception):
    """Error of a link by which nobody can join; `why` is unknown, withdrawn, expired, used or address (of another)."""

    def __init__(self, why: str, invitation: Invitation | None = None):
        super().__init__(why)
        self.why, self.invitation = why, invitation


@dataclass(frozen=True)
class InvitationRequest:
    """Parameters of a new invitation."""

    role: str
    email: str = ""
    note: str = ""
    most: int = 1
    days: int = 7


def invite(organisation: Organisation, user: User, wanted: InvitationRequest) -> tuple[Invitation, str]:
    """Create an invitation. Return it and the text of its link, which is not stored."""
    text = secrets.token_urlsafe(BYTES)
    made = Invitation.objects.create(
        organisation=organisation,
        hash=hash_token(text),
        role=wanted.role,
        email=wanted.email,
        note=wanted.note,
        most=wanted.most,
        made_by=user,
        expires_at=timezone.now() + timedelta(days=wanted.days),
    )
    return made, text


def hash_token(text: str) -> str:
    """Return the text's hash; a plain hash is enough, because the text is random and long."""
    return sha256(text.encode()).hexdigest()


def find(text: str) -> Invitation:
    """Return the open invitation of a link. Raises InvitationClosedError."""
    found = Invitation.objects.filter(hash=hash_token(text)).select_related("organisation", "made_by").first()
    if found is None:
        raise InvitationClosedError("unknown")
    if found.closed_reason:
        raise InvitationClosedError(found.closed_reason, found)
    return found


@transaction.atomic
def join(text: str, user: User) -> Membership:
    """Make a user a member by a link. An existing member keeps the role, and uses nothing up.

    Raises InvitationClosedError.
    """
    organisation = find(text).organisation
    lock_organisation(organisation)
    invitation = find(text)  # reloaded, now that nobody else can use it
    if not matches_email(invitation, user.email):
        raise InvitationClosedError("address", invitation)
    given = {"role": invitation.role}
    with override_actor(user, invitation=str(invitation)):
        membership, new = Membership.objects.get_or_create(organisation=organisation, user=user, defaults=given)
    if new:
        invitation.used += 1
        invitation.save(update_fields=["used"])
    return membership


def matches_email(invitation: Invitation, email: str) -> bool:
    """Return whether the invitation is for this e-mail address."""
    return not invitation.email or invitation.email.casefold() == email.casefold()


@transaction.atomic
def sign_up(text: str, name: str, email: str, password: str | None) -> User:
    """Create an account that is a member immediately; one without a password signs in elsewhere.

    Raises InvitationClosedError.
    """
    find(text)
    user: User = User.objects.create_user(free_name(email), email, password, first_name=name)
    join(text, user)
    return user


def list_invitations(organisation: Organisation) -> QuerySet[Invitation]:
    """Return open invitations, and recently withdrawn ones."""
    recent = Q(withdrawn_at__gt=timezone.now() - UNDO)
    condition = Q(pk__in=organisation.invitations.open().values("pk")) | recent
    return organisation.invitations.filter(condition).select_related("made_by")


def withdraw(invitation: Invitation) -> None:
    invitation.withdrawn_at = timezone.now()
    invitation.save(update_fields=["withdrawn_at"])


def give_back(invitation: Invitation) -> None:
    """Undo a withdrawal. The invitation may still be used up or expired."""
    invitation.withdrawn_at = None
    invitation.save(update_fields=["withdrawn_at"])
