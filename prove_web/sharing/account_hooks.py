"""Share links in the rules and pages of accounts."""

from __future__ import annotations

from prove_web.accounts.hooks import PersonalData, Revocable, personal_data, revocables
from prove_web.accounts.models import Organisation, User
from prove_web.accounts.roles import Action

from .links import withdraw
from .models import Share, ShareQuerySet


def find_open_links(team: Organisation, user: User) -> ShareQuerySet:
    links = Share.objects.open().filter(project__organisation=team, made_by=user)
    return links.select_related("project__organisation")


revocables.append(Revocable("share link", Action.LAUNCH, find_open_links, withdraw))
personal_data.append(
    PersonalData(
        "share_links",
        lambda user, projects: Share.objects.filter(made_by=user, project__in=projects),
        ("title", "made_at", "expires_at", "withdrawn_at"),
    )
)
