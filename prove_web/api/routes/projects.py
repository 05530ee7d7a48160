"""API operations for the projects of the authenticated user, and for the user."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ninja import Router, Schema

from prove_web.accounts.models import Membership, Project
from prove_web.accounts.roles import Action

from ..models import ApiToken
from ..permissions import signed_in

router = Router(tags=["Projects"])


class ProjectOut(Schema):
    organisation: str
    slug: str
    name: str
    role: str
    created_at: datetime


class CurrentUserOut(Schema):
    username: str
    token: str | None
    scopes: list[str]
    expires_at: datetime | None


@router.get("/projects", response=list[ProjectOut])
@signed_in
def list_projects(request: Any) -> Any:
    """List the projects you have access to, with your role in each."""
    found = (
        Project.objects.filter_visible_to(request.user)
        .select_related("organisation")
        .order_by("organisation__slug", "slug")
    )
    if isinstance(request.auth, ApiToken):
        found = found.filter(organisation=request.auth.organisation)
        found = found.filter(pk=request.auth.project_id) if request.auth.project_id else found
    roles = dict(Membership.objects.filter(user=request.user).values_list("organisation", "role"))
    return [
        {
            "organisation": each.organisation.slug,
            "slug": each.slug,
            "name": each.name,
            "role": roles[each.organisation_id],
            "created_at": each.created_at,
        }
        for each in found
    ]


@router.get("/me", response=CurrentUserOut)
@signed_in
def who_am_i(request: Any) -> Any:
    """Return the authenticated user, and the token's scopes."""
    token = request.auth if isinstance(request.auth, ApiToken) else None
    return {
        "username": request.user.get_username(),
        "token": token.name if token else None,
        "scopes": token.scopes if token else list(Action),
        "expires_at": token.expires_at if token else None,
    }
