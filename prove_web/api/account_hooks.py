"""API tokens in the rules and pages of accounts."""

from __future__ import annotations

from django.db.models import QuerySet

from prove_web.accounts.hooks import PersonalData, Revocable, personal_data, revocables
from prove_web.accounts.models import Organisation, User
from prove_web.accounts.roles import Action

from .models import ApiToken
from .tokens import revoke


def find_valid_tokens(team: Organisation, user: User) -> QuerySet[ApiToken]:
    tokens = ApiToken.objects.filter_valid().filter(organisation=team, user=user)
    return tokens.select_related("organisation")


revocables.append(Revocable("API token", Action.VIEW, find_valid_tokens, lambda token, because: revoke(token)))
personal_data.append(
    PersonalData(
        "api_tokens",
        lambda user, projects: ApiToken.objects.filter(user=user),
        ("name", "scopes", "created_at", "used_at", "revoked_at"),
    )
)
