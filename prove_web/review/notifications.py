"""Notifications in the application, without e-mail. People who have left a team get none from it."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import QuerySet
from django.utils import timezone

from prove_web.accounts.models import Project, User

from .models import Notification

LONGEST = 300  # characters of a text, and of a URL


def notify(users: Iterable[User | int | None], project: Project, text: str, url: str) -> None:
    """Notify members of a project's team, except those with the same unread notification.

    `users` are users or their ids; None (a deleted account) is skipped.
    """
    keys = {one.pk if isinstance(one, User) else one for one in users} - {None}
    text, url = text[:LONGEST], url[:LONGEST]
    members = set(
        User.objects.filter(pk__in=keys, is_active=True, memberships__organisation=project.organisation_id).values_list(
            "pk", flat=True
        )
    )
    same = Notification.objects.filter(project=project, text=text, url=url, read_at=None)
    notified = set(same.filter(user__in=members).values_list("user_id", flat=True))
    Notification.objects.bulk_create(
        Notification(user_id=key, project=project, text=text, url=url) for key in sorted(members - notified)
    )


def list_notifications(user: User) -> QuerySet[Notification]:
    """Return a user's notifications from projects that are still visible to the user, newest first."""
    rows = Notification.objects.filter(user=user, project__in=Project.objects.filter_visible_to(user))
    return rows.select_related("project__organisation")


def mark_read(rows: QuerySet[Notification]) -> int:
    """Mark notifications as read. Return how many were unread."""
    unread = Notification.objects.filter(pk__in=list(rows.filter(read_at=None).values_list("pk", flat=True)))
    return int(unread.update(read_at=timezone.now()))
