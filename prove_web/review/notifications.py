"""Telling people in the application what concerns them; no mail is sent. Who has left a team is told nothing of it."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import QuerySet
from django.utils import timezone

from prove_web.accounts.models import Project, User

from .models import Notification

LONGEST = 300  # characters of a text, and of an address


def notify(users: Iterable[User | int | None], project: Project, text: str, url: str) -> None:
    """Tell members of a project's team something; whoever has the same unread is not told again.

    `users` are people or their keys, in which None (someone whose account is gone) is passed over.
    """
    keys = {one.pk if isinstance(one, User) else one for one in users} - {None}
    text, url = text[:LONGEST], url[:LONGEST]
    members = set(
        User.objects.filter(pk__in=keys, is_active=True, memberships__organisation=project.organisation_id).values_list(
            "pk", flat=True
        )
    )
    same = Notification.objects.filter(project=project, text=text, url=url, read_at=None)
    told = set(same.filter(user__in=members).values_list("user_id", flat=True))
    Notification.objects.bulk_create(
        Notification(user_id=key, project=project, text=text, url=url) for key in sorted(members - told)
    )


def list_notifications(user: User) -> QuerySet[Notification]:
    """A person's notifications from projects that they may still see, the newest first."""
    rows = Notification.objects.filter(user=user, project__in=Project.objects.of(user))
    return rows.select_related("project__organisation")


def mark_read(rows: QuerySet[Notification]) -> int:
    """How many of them were unread until now."""
    unread = Notification.objects.filter(pk__in=list(rows.filter(read_at=None).values_list("pk", flat=True)))
    return int(unread.update(read_at=timezone.now()))
