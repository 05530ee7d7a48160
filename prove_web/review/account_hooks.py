"""Reviews, comments and notifications in the rules and pages of accounts."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.dispatch import receiver

from prove_web.accounts.hooks import PersonalData, account_deleted, member_notice, personal_data
from prove_web.accounts.models import Project, User

from .models import Comment, Notification, Review
from .notifications import list_notifications, notify


@receiver(member_notice)
def send_notice(users: Any, project: Project, text: str, url: str, **rest: Any) -> None:
    notify(users, project, text, url)


@receiver(account_deleted)
def delete_notifications(user: User, **rest: Any) -> None:
    Notification.objects.filter(user=user).delete()


def find_reviews(user: User, projects: QuerySet[Project]) -> QuerySet[Review]:
    return Review.objects.filter(reviewer=user, item__queue__project__in=projects)


def find_comments(user: User, projects: QuerySet[Project]) -> QuerySet[Comment]:
    return Comment.objects.filter(author=user, trajectory__dataset__project__in=projects)


personal_data += [
    PersonalData("reviews", find_reviews, ("item__queue__name", "item__position", "state", "answers", "comment")),
    PersonalData("comments", find_comments, ("trajectory__example", "text", "made_at")),
    PersonalData("notifications", lambda user, projects: list_notifications(user), ("text", "made_at", "read_at")),
]
