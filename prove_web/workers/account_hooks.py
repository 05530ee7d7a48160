"""Enrolled machines in the rules of accounts."""

from __future__ import annotations

from django.db.models import QuerySet

from prove_web.accounts.hooks import Revocable, revocables
from prove_web.accounts.models import Organisation, User
from prove_web.accounts.roles import Action

from .enrolment import revoke
from .models import Enrolment


def find_enrolled_machines(team: Organisation, user: User) -> QuerySet[Enrolment]:
    return Enrolment.objects.filter(organisation=team, made_by=user, revoked_at=None)


revocables.append(Revocable("machine", Action.MANAGE, find_enrolled_machines, lambda machine, because: revoke(machine)))
