"""Memberships of an organisation: add, change role, remove; at least one owner always remains."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.db import transaction
from django.http import Http404
from django.utils.crypto import get_random_string

from .hooks import member_notice
from .models import Membership, Organisation, User
from .offboarding import Ended, end_all
from .roles import Action, Role

LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # without letters that look alike


class LastOwner(Exception):
    """Error if the organisation would lose its last owner."""


@dataclass(frozen=True)
class NewMember:
    """A new member; `password` is the initial one of a new user, which is known only now."""

    membership: Membership
    password: str | None


def find(person: str) -> User | None:
    """Return a user by user name, else by e-mail address in any case."""
    named = User.objects.filter(username=person).first()
    return named or (User.objects.filter(email__iexact=person).first() if "@" in person else None)


@transaction.atomic
def add(organisation: Organisation, person: str, role: str) -> NewMember:
    """Make a person a member; a person without an account gets one with a random password."""
    lock_organisation(organisation)
    user, password = find(person), None
    if user is None:
        password = "-".join(get_random_string(4, LETTERS) for _ in range(4))
        user = User.objects.create_user(free_name(person), person, password)
    membership, _ = Membership.objects.get_or_create(organisation=organisation, user=user, defaults={"role": role})
    return NewMember(membership, password)


@transaction.atomic
def change(membership: Membership, role: str) -> Ended:
    """Change a role, and notify the member. Return what was revoked of what the member had created.

    Raises LastOwner, or Http404 if the member was removed meanwhile.
    """
    lock_organisation(membership.organisation)
    if not Membership.objects.filter(pk=membership.pk).exists():
        raise Http404("This person is not in the team any more.")
    before, new = membership.role, Role(role)
    if new != Role.OWNER:
        refuse_last_owner(membership)
    membership.role = new
    membership.save(update_fields=["role"])
    if before == new:
        return []
    tell_role(membership)
    return end_all(membership, new)


@transaction.atomic
def remove(membership: Membership) -> Ended:
    """Remove a member. Return what was revoked; everything else that the member created stays. Raises LastOwner."""
    lock_organisation(membership.organisation)
    refuse_last_owner(membership)
    ended = end_all(membership, None)
    membership.delete()
    return ended


def tell_role(membership: Membership) -> None:
    """Notify a member of a new role in the team's newest project, if it has one."""
    team, role = membership.organisation, Role(membership.role)
    if project := team.projects.order_by("-pk").first():
        may = "; ".join(action.label for action in Action if role.covers(action))
        text = f"Your role in {team} is now {role.label}. You can {may}."
        url = team.get_absolute_url()
        member_notice.send(sender=Membership, users=[membership.user], project=project, text=text, url=url)


def lock_organisation(organisation: Organisation) -> None:
    """Lock a team, because two owners could remove each other otherwise."""
    Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)


def is_last_owner(membership: Membership) -> bool:
    """Return whether nobody else owns the team."""
    others = Membership.objects.filter(organisation=membership.organisation, role=Role.OWNER).exclude(pk=membership.pk)
    return not others.exists()


def refuse_last_owner(membership: Membership) -> None:
    if is_last_owner(membership):
        raise LastOwner("A team needs an owner. Make someone else an owner first.")


def free_name(address: str) -> str:
    """Return a user name derived from an e-mail address, with a number if it is taken."""
    base = re.sub(r"[^\w.+-]", "", address.split("@")[0])[:100] or "member"
    name, number = base, 1
    while User.objects.filter(username__iexact=name).exists():
        number += 1
        name = f"{base}{number}"
    return name
