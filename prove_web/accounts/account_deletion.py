"""Deletion of an account: its tokens and links are revoked, its identity is erased, and its work stays."""

from __future__ import annotations

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from axes.models import AccessAttempt
from django.db import transaction

from . import audit, memberships
from .hooks import account_deleted
from .models import Membership, Preference, User
from .signing_in.sessions import end

NAME = "A former member"


def in_the_way(user: User) -> list[str]:
    """Return the teams that would have no owner left, each with what to do."""
    mine = Membership.objects.filter(user=user).select_related("organisation")
    return [
        f"{each.organisation} would have no owner. Make someone else an owner there, or delete the team."
        for each in mine
        if memberships.is_last_owner(each)
    ]


@transaction.atomic
def close(user: User) -> None:
    """Leave every team and erase the identity: labels, comments and runs then belong to "A former member".

    The row stays, so that the answers of two former members still count as those of two people. Raises LastOwner.
    """
    username = user.username
    for membership in Membership.objects.filter(user=user).select_related("organisation", "user"):
        audit.note(user, "closed the account of", user, membership.organisation)
        memberships.remove(membership)
    end(user, None)
    for table in (Authenticator, SocialAccount, EmailAddress, Preference):
        table._base_manager.filter(user=user).delete()
    account_deleted.send(sender=User, user=user)
    AccessAttempt.objects.filter(username=username.casefold()).delete()
    user.username = f"former-member-{user.pk}"
    user.email = f"{user.username}@closed.invalid"
    user.first_name, user.last_name, user.is_active = NAME, "", False
    user.set_unusable_password()
    user.save()
