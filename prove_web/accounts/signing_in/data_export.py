"""What the site knows of a person, as one JSON file that they take along."""

from __future__ import annotations

from typing import Any

from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.db.models import QuerySet
from django.http import JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from prove_web.api.models import ApiToken
from prove_web.live.models import Job
from prove_web.review.models import Comment, Review
from prove_web.review.notifications import list_notifications
from prove_web.sharing.models import Share

from ..models import Membership, Project, User
from ..permissions import signed_in

MOST = 10_000  # of each, the newest


@signed_in
@never_cache
@require_GET
def account_data(request: Any) -> JsonResponse:
    headers = {"Content-Disposition": f'attachment; filename="prove-studio-{request.user.pk}.json"'}
    return JsonResponse(known_of(request.user), headers=headers, json_dumps_params={"indent": 2, "ensure_ascii": False})


def known_of(user: User) -> dict[str, Any]:
    """No secret is among it, nor any hash of one; of what lies in projects, what the person may see at this moment."""
    of, seen = {"user": user}, Project.objects.of(user)
    reviews = Review.objects.filter(reviewer=user, item__queue__project__in=seen)
    comments = Comment.objects.filter(author=user, trajectory__dataset__project__in=seen)
    links = Share.objects.filter(made_by=user, project__in=seen)
    jobs = Job.objects.filter(created_by=user, project__in=seen)
    return {
        "account": {
            **{name: getattr(user, name) for name in ("username", "email", "first_name", "last_name")},
            **{"since": user.date_joined, "last_signed_in": user.last_login},
        },
        "teams": rows(Membership.objects.filter(**of), "organisation__name", "role", "since"),
        "second_factors": rows(Authenticator.objects.filter(**of), "type", "created_at", "last_used_at"),
        "signed_in": rows(UserSession.objects.filter(**of), "ip", "user_agent", "created_at", "last_seen_at"),
        "api_tokens": rows(ApiToken.objects.filter(**of), "name", "scopes", "created_at", "used_at", "revoked_at"),
        "share_links": rows(links, "title", "made_at", "expires_at", "withdrawn_at"),
        "jobs": rows(jobs, "kind", "title", "state", "created_at"),
        "reviews": rows(reviews, "item__queue__name", "item__position", "state", "answers", "comment"),
        "comments": rows(comments, "trajectory__example", "text", "made_at"),
        "notifications": rows(list_notifications(user), "text", "made_at", "read_at"),
    }


def rows(found: QuerySet, *fields: str) -> list[dict[str, Any]]:
    return list(found.order_by("-pk").values(*fields)[:MOST])
