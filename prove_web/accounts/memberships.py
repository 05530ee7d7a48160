"""Who is in an organisation: people are added, given another role, removed; an owner always remains."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.db import transaction
from django.http import Http404
from django.utils.crypto import get_random_string

from prove_web.review.notifications import notify

from .models import Membership, Organisation, User
from .offboarding import Ended, end_all
from .roles import Action, Role

LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that looks like another


class LastOwner(Exception):
    """Without this owner nobody could manage the organisation."""


@dataclass(frozen=True)
class Added:
    """A new member; `password` is the first one of someone new, and known only now."""

    membership: Membership
    password: str | None


def find(person: str) -> User | None:
    """By user name, else by e-mail address in any case."""
    named = User.objects.filter(username=person).first()
    return named or (User.objects.filter(email__iexact=person).first() if "@" in person else None)


@transaction.atomic
def add(organisation: Organisation, person: str, role: str) -> Added:
    """Make a person a member; one who has no account gets one, signed in to with a random password."""
    hold(organisation)
    user, password = find(person), None
    if user is None:
        password = "-".join(get_random_string(4, LETTERS) for _ in range(4))
        user = User.objects.create_user(free_name(person), person, password)
    membership, _ = Membership.objects.get_or_create(organisation=organisation, user=user, defaults={"role": role})
    return Added(membership, password)


@transaction.atomic
def change(membership: Membership, role: str) -> Ended:
    """What ended with it, of what the person had made. They are told of another role. Raises LastOwner, or Http404
    where somebody else removed the person meanwhile."""
    hold(membership.organisation)
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
    """What ended with it; whatever else the person made stays. Raises LastOwner."""
    hold(membership.organisation)
    refuse_last_owner(membership)
    ended = end_all(membership, None)
    membership.delete()
    return ended


def tell_role(membership: Membership) -> None:
    """A notification in the team's newest project, where it has one."""
    team, role = membership.organisation, Role(membership.role)
    if project := team.projects.order_by("-pk").first():
        may = "; ".join(action.label for action in Action if role.covers(action))
        told = f"Your role in {team} is now {role.label}. You can {may}."
        notify([membership.user], project, told, team.get_absolute_url())


def hold(organisation: Organisation) -> None:
    """One change of a team at a time, or two owners could remove each other."""
    Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)


def is_last_owner(membership: Membership) -> bool:
    """Whether nobody else owns the team; another role than owner leaves it one."""
    others = Membership.objects.filter(organisation=membership.organisation, role=Role.OWNER).exclude(pk=membership.pk)
    return not others.exists()


def refuse_last_owner(membership: Membership) -> None:
    if is_last_owner(membership):
        raise LastOwner("A team needs an owner. Make someone else an owner first.")


def free_name(address: str) -> str:
    """A user name made of an e-mail address, with a number where it is taken."""
    base = re.sub(r"[^\w.+-]", "", address.split("@")[0])[:100] or "member"
    name, number = base, 1
    while User.objects.filter(username__iexact=name).exists():
        number += 1
        name = f"{base}{number}"
    return name
