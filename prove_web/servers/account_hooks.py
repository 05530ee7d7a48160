"""Tokens of live sessions in the rules of accounts."""

from __future__ import annotations

from django.db.models import QuerySet

from prove_web.accounts.hooks import Revocable, revocables
from prove_web.accounts.models import Organisation, User
from prove_web.accounts.roles import Action

from .models import ConnectToken
from .tokens import revoke


def find_active_tokens(team: Organisation, user: User) -> QuerySet[ConnectToken]:
    tokens = ConnectToken.objects.filter(session__project__organisation=team, made_by=user, revoked_at=None)
    return tokens.select_related("session__project__organisation")


revocables.append(Revocable("session token", Action.ANNOTATE, find_active_tokens, lambda token, because: revoke(token)))
