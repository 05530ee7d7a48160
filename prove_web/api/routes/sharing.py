"""API operations for share links and the trash."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.shortcuts import get_object_or_404
from ninja import Router, Schema
from pydantic import Field

from prove_web.accounts.models import Project
from prove_web.accounts.roles import Action
from prove_web.experiments.models import Run
from prove_web.sharing import links
from prove_web.sharing.links import DAYS, USUAL
from prove_web.sharing.models import Deletion, Share
from prove_web.sharing.share_pages import LONGEST, address_of, page_at, visible
from prove_web.sharing.soft_delete import InUse, Thing, TooLate, delete, restore
from prove_web.trajectories.models import Dataset

from ..errors import ApiError
from ..paging import Cursor, Key, Limit, Number, Piece, by_key, by_place
from ..permissions import in_project
from ..schemas import StrictSchema, username
from .datasets import DATASETS
from .runs import RUNS

router = Router(tags=["Sharing and trash"])
IN_PROJECT = "/{slug:organisation}/{slug:project}"
SHARES = f"{IN_PROJECT}/shares"
BIN = f"{IN_PROJECT}/bin"


class ShareOut(Schema):
    """A share link; its secret is only returned on creation. `opened` counts its visits."""

    id: int
    title: str
    kind: str
    page: str
    state: str
    by: str | None
    made_at: datetime
    expires_at: datetime
    opened: int
    opened_at: datetime | None

    @staticmethod
    def resolve_page(share: Share) -> str:
        return share.address

    @staticmethod
    def resolve_by(share: Share) -> str | None:
        return username(share.made_by)


class ShareLink(StrictSchema):
    page: str = Field(
        max_length=LONGEST,
        description="URL of a run, comparison, rollout or trajectory page, such as the `url` of a run.",
    )
    days: int = Field(USUAL, description=f"Days until it expires: {', '.join(map(str, DAYS))}.")


class ShareCreated(Schema):
    """`address` is the link. It is only returned once."""

    share: ShareOut
    address: str


class DeletionOut(Schema):
    """An item in the trash; `due_at` is its permanent deletion."""

    id: int
    kind: str
    number: int
    name: str
    by: str | None
    at: datetime
    due_at: datetime

    @staticmethod
    def resolve_by(deletion: Deletion) -> str | None:
        return username(deletion.by)


class RestoredObject(Schema):
    kind: str
    number: int
    url: str


@router.get(SHARES, response=Piece[ShareOut])
@in_project(Action.LAUNCH)
def list_shares(request: Any, cursor: Cursor = "", limit: Limit = 50) -> Any:
    """List your share links, newest first; owners see those of all members."""
    return by_key(visible(request).select_related("made_by", "project__organisation"), "pk", cursor, limit)


@router.post(SHARES, response={201: ShareCreated})
@in_project(Action.LAUNCH)
def make_share(request: Any, body: ShareLink) -> Any:
    """Create a link that gives read access to one page without signing in, until it expires or is revoked."""
    wanted = page_at(request, body.page.removeprefix(f"{request.scheme}://{request.get_host()}"))
    if wanted is None:
        do = "Send the URL of a run, comparison, rollout or trajectory of this project."
        raise ApiError(422, "This URL has no page that can be shared.", "body.page", do)
    try:
        made, secret = links.make(request.project, request.user, wanted, body.days)
    except links.ShareLinkError as why:
        raise ApiError(422, str(why), "body.days", "Change it and send the request again.") from None
    return {"share": made, "address": address_of(request, secret)}


@router.post(f"{SHARES}/{{int:share}}/withdraw", response=ShareOut)
@in_project(Action.LAUNCH)
def withdraw_share(request: Any, share: Key) -> Any:
    """Revoke a share link; owners can revoke those of all members."""
    found = get_object_or_404(visible(request).select_related("made_by", "project__organisation"), pk=share)
    links.withdraw(found)
    found.refresh_from_db(fields=["withdrawn_at"])
    return found


@router.get(BIN, response=Piece[DeletionOut])
@in_project(Action.VIEW)
def list_deleted(request: Any, cursor: Cursor = "", limit: Limit = 50) -> Any:
    """List the runs and datasets in the trash, newest first."""
    rows = request.project.deletions.filter_in_trash().exclude(kind=Deletion.Kind.PROJECT).select_related("by")
    return by_place(rows, cursor, limit)


@router.post(f"{RUNS}/{{int:run}}/delete", response=DeletionOut)
@in_project(Action.LAUNCH)
def delete_run(request: Any, run: Number) -> Any:
    """Move a run to the trash, where it can be restored for a limited time."""
    rows = Run.everything.select_related("job")
    return move_to_trash(request, get_object_or_404(rows, project=request.project, number=run))


@router.post(f"{DATASETS}/{{int:dataset}}/delete", response=DeletionOut)
@in_project(Action.LAUNCH)
def delete_dataset(request: Any, dataset: Number) -> Any:
    """Move a dataset to the trash, where it can be restored for a limited time."""
    rows = Dataset.everything.select_related("job")
    return move_to_trash(request, get_object_or_404(rows, project=request.project, number=dataset))


def move_to_trash(request: Any, thing: Thing) -> Deletion:
    """Raises Refused."""
    if not isinstance(thing, Project):
        thing.project = request.project
    try:
        return delete(thing, request.user)
    except InUse as why:
        raise ApiError(409, str(why), request.path, "End the jobs that use it, then delete it.") from None


@router.post(f"{BIN}/{{int:deletion}}/restore", response=RestoredObject)
@in_project(Action.LAUNCH)
def restore_deleted(request: Any, deletion: Key) -> Any:
    """Restore a run or dataset from the trash."""
    rows = request.project.deletions.exclude(kind=Deletion.Kind.PROJECT)
    return restore_deletion(get_object_or_404(rows, pk=deletion))


def restore_deletion(found: Deletion) -> dict[str, Any]:
    """Raises Refused."""
    try:
        thing = restore(found)
    except TooLate as why:
        raise ApiError(409, str(why), "deletion", "It was permanently deleted.") from None
    return {"kind": found.kind, "number": found.number, "url": thing.get_absolute_url()}
