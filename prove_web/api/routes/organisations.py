"""API operations for a team: members and projects."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.shortcuts import get_object_or_404
from ninja import Router, Schema
from pydantic import Field

from prove_web.accounts.forms import NewProject
from prove_web.accounts.models import Membership
from prove_web.accounts.roles import Action
from prove_web.sharing.trash_views import of_projects

from ..errors import ApiError, ill_filled
from ..form_schemas import body_of, build_query_dict
from ..paging import Cursor, Key, Limit, Piece, by_place
from ..permissions import in_organisation, in_project
from ..schemas import StrictSchema
from .projects import ProjectOut
from .sharing import DeletionOut, RestoredObject, move_to_trash, restore_deletion

router = Router(tags=["Projects"])
ORGANISATION = "/{slug:organisation}"
BIN = f"{ORGANISATION}/bin"
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


class DeleteProject(StrictSchema):
    name: str = Field(max_length=500, description="The exact project name, to confirm. Deletes all of its contents.")


@router.get(f"{ORGANISATION}/members", response=list[MemberOut])
@in_organisation(Action.VIEW)
def list_members(request: Any) -> Any:
    """List the team's members and their roles."""
    return request.organisation.memberships.select_related("user").order_by("user__username")


@router.post(f"{ORGANISATION}/projects", response={201: ProjectOut})
@in_organisation(Action.MANAGE)
def make_project(request: Any, body: Make) -> Any:  # type: ignore[valid-type]
    """Create a project. Its URL name defaults to one derived from its name."""
    form = NewProject(build_query_dict(body.dict(exclude_unset=True)), organisation=request.organisation)
    if not form.is_valid():
        raise ill_filled(form.errors)
    made = form.save()
    fields = {name: getattr(made, name) for name in ("slug", "name", "created_at")}
    return fields | {"organisation": request.organisation.slug, "role": request.role.value}


@router.post(f"{ORGANISATION}/{{slug:project}}/delete", response=DeletionOut)
@in_project(Action.MANAGE)
def delete_project(request: Any, body: DeleteProject) -> Any:
    """Move a project and everything in it to the team's trash, where it can be restored for a limited time."""
    if body.name.strip() != request.project.name:
        text = f"The name does not match. Expected: {request.project.name}"
        raise ApiError(422, text, "body.name", "Send the exact name, including capitals and spaces.")
    return move_to_trash(request, request.project)


@router.get(BIN, response=Piece[DeletionOut])
@in_organisation(Action.MANAGE)
def list_deleted_projects(request: Any, cursor: Cursor = "", limit: Limit = 50) -> Any:
    """List the projects in the team's trash, newest first."""
    return by_place(of_projects(request.organisation).filter_in_trash(), cursor, limit)


@router.post(f"{BIN}/{{int:gone}}/restore", response=RestoredObject)
@in_organisation(Action.MANAGE)
def restore_project(request: Any, gone: Key) -> Any:
    """Restore a project from the team's trash."""
    return restore_deletion(get_object_or_404(of_projects(request.organisation), pk=gone))
