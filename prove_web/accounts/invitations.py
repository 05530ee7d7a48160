"""Invitations: links that an owner passes on, by which people join a team with a role, and with no higher one."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from .audit import acting
from .memberships import free_name, hold
from .models import Invitation, Membership, Organisation, User

BYTES = 32
UNDO = timedelta(days=1)  # for so long a withdrawn one can be given back


class Closed(Exception):
    """Nobody joins by this link; `why` is unknown, withdrawn, expired, used, or address where it is for another."""

    def __init__(self, why: str, invitation: Invitation | None = None):
        super().__init__(why)
        self.why, self.invitation = why, invitation


@dataclass(frozen=True)
class InvitationRequest:
    """What an owner wants of a new invitation."""

    role: str
    email: str = ""
    note: str = ""
    most: int = 1
    days: int = 7


def invite(organisation: Organisation, user: User, asked: InvitationRequest) -> tuple[Invitation, str]:
    """A new invitation, and the text of its link, which is kept nowhere."""
    text = secrets.token_urlsafe(BYTES)
    made = Invitation.objects.create(
        organisation=organisation,
        hash=hashed(text),
        role=asked.role,
        email=asked.email,
        note=asked.note,
        most=asked.most,
        made_by=user,
        expires_at=timezone.now() + timedelta(days=asked.days),
    )
    return made, text


def hashed(text: str) -> str:
    """A plain hash is enough: the text is random and long."""
    return sha256(text.encode()).hexdigest()


def find(text: str) -> Invitation:
    """The open invitation of a link. Raises Closed."""
    found = Invitation.objects.filter(hash=hashed(text)).select_related("organisation", "made_by").first()
    if found is None:
        raise Closed("unknown")
    if found.closed_reason:
        raise Closed(found.closed_reason, found)
    return found


@transaction.atomic
def join(text: str, user: User) -> Membership:
    """Make a person a member by a link. Who is one already stays what they are, and uses nothing up. Raises Closed."""
    organisation = find(text).organisation
    hold(organisation)
    invitation = find(text)  # as it is now that nobody else can use it
    if not suits(invitation, user.email):
        raise Closed("address", invitation)
    given = {"role": invitation.role}
    with acting(user, invitation=str(invitation)):
        membership, new = Membership.objects.get_or_create(organisation=organisation, user=user, defaults=given)
    if new:
        invitation.used += 1
        invitation.save(update_fields=["used"])
    return membership


def suits(invitation: Invitation, email: str) -> bool:
    """Whether it is for someone of this address."""
    return not invitation.email or invitation.email.casefold() == email.casefold()


@transaction.atomic
def sign_up(text: str, name: str, email: str, password: str | None) -> User:
    """A new account that is a member at once; without a password it is signed in to elsewhere. Raises Closed."""
    find(text)
    user: User = User.objects.create_user(free_name(email), email, password, first_name=name)
    join(text, user)
    return user


def listed(organisation: Organisation) -> QuerySet[Invitation]:
    """The open ones, and those that were withdrawn a moment ago."""
    recent = Q(withdrawn_at__gt=timezone.now() - UNDO)
    shown = Q(pk__in=organisation.invitations.open().values("pk")) | recent
    return organisation.invitations.filter(shown).select_related("made_by")


def withdraw(invitation: Invitation) -> None:
    invitation.withdrawn_at = timezone.now()
    invitation.save(update_fields=["withdrawn_at"])


def give_back(invitation: Invitation) -> None:
    """Undo a withdrawal. It is still used up or expired where it was."""
    invitation.withdrawn_at = None
    invitation.save(update_fields=["withdrawn_at"])
