"""A team: who is in it, and a new project of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ninja import Router, Schema

from prove_web.accounts.forms import NewProject
from prove_web.accounts.models import Membership
from prove_web.accounts.roles import Action

from ..posted import body_of, posted
from ..refusals import ill_filled
from ..rules import in_organisation
from .projects import ProjectOut

router = Router(tags=["Projects"])
ORGANISATION = "/{slug:organisation}"
Make = body_of(NewProject, "MakeProject")


class MemberOut(Schema):
    username: str
    email: str
    role: str
    since: datetime

    @staticmethod
    def resolve_username(member: Membership) -> str:
        return member.user.get_username()

    @staticmethod
    def resolve_email(member: Membership) -> str:
        return member.user.email


@router.get(f"{ORGANISATION}/members", response=list[MemberOut])
@in_organisation(Action.VIEW)
def list_members(request: Any) -> Any:
    """The members of a team, with their roles."""
    return request.organisation.memberships.select_related("user").order_by("user__username")


@router.post(f"{ORGANISATION}/projects", response={201: ProjectOut})
@in_organisation(Action.MANAGE)
def make_project(request: Any, body: Make) -> Any:  # type: ignore[valid-type]
    """Make a project. Without an address of its own it has one made of its name."""
    form = NewProject(posted(body.dict(exclude_unset=True)), organisation=request.organisation)
    if not form.is_valid():
        raise ill_filled(form.errors)
    made = form.save()
    told = {name: getattr(made, name) for name in ("slug", "name", "created_at")}
    return told | {"organisation": request.organisation.slug, "role": request.role.value}
