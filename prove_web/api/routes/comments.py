"""API operations for comments on trajectories, and for verified acceptance."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.review import comments as saying
from prove_web.review.acceptance import LONGEST_REASON, NotChecked, ReplayDriftError, accept
from prove_web.review.acceptance_status import today
from prove_web.review.comment_anchors import PLACE, Place, places, read_place
from prove_web.review.comment_pages import NOT_YOURS
from prove_web.review.comments import LONGEST, NotSaid, place_of, visible_comments
from prove_web.review.models import Acceptance, Comment
from prove_web.trajectories.models import Trajectory
from prove_web.trajectories.views.lookup import one_trajectory

from ..errors import ApiError
from ..paging import Cursor, Key, Limit, Number, Piece, by_key
from ..permissions import in_project
from ..schemas import StrictSchema, username
from .trajectories import TRAJECTORY, get_unblinded

router = Router(tags=["Trajectories"])
COMMENTS = TRAJECTORY + "/comments"
COMMENT = COMMENTS + "/{int:comment}"
MOST = 100  # acceptances that are told
WHERE = "turn-2 or call-3, counted from 1; empty for the whole trajectory."
At = Annotated[str, Field(max_length=20, pattern=f"^({PLACE.pattern})?$", description=WHERE)]


class CommentOut(Schema):
    """`text` is Markdown. A thread is all comments at one place."""

    id: int
    place: str
    text: str
    by: str | None
    mine: bool
    mentions: list[str]
    made_at: datetime
    edited_at: datetime | None
    resolved_at: datetime | None
    url: str


class CommentText(StrictSchema):
    text: str = Field(max_length=10 * LONGEST, description=f"Markdown; at most {LONGEST:,} characters.")


class NewComment(CommentText):
    place: At = ""


class ThreadResolutionIn(StrictSchema):
    place: At = ""
    resolved: bool = Field(True, description="false reopens it.")


class ThreadResolutionOut(Schema):
    place: str
    resolved: bool


class CommentRemoved(Schema):
    removed: int


class AcceptanceOut(Schema):
    """An acceptance. `drift` lists where the replay differed from the record; `same` is true while the servers have the
    code of that replay."""

    by: str | None
    accepted_at: datetime
    drift: list[str]
    reason: str
    queue: int | None
    same: bool


class AcceptanceIn(StrictSchema):
    reason: str = Field("", max_length=LONGEST_REASON, description="Reason; required if the replay differs.")


@router.get(COMMENTS, response=Piece[CommentOut])
@in_project(Action.VIEW)
def list_comments(
    request: Any,
    dataset: Number,
    example: str,
    place: Annotated[str, Query(max_length=20, description=WHERE + " Default: all.")] | None = None,
    cursor: Cursor = "",
    limit: Limit = 100,
) -> Any:
    """List the comments on a trajectory, oldest first. With a blind review pending you only see your own."""
    found = one_trajectory(request.project, dataset, example)
    rows = visible_comments(found, request.user)
    if place is not None:
        at = read_place(place)
        rows = rows.filter(turn=at.turn, call=at.call)
    page = by_key(rows.prefetch_related("mentions"), "pk", cursor, limit, downwards=False)
    return page | {"items": [serialize_comment(comment, found, request.user) for comment in page["items"]]}


def serialize_comment(comment: Comment, trajectory: Trajectory, user: Any) -> dict[str, Any]:
    comment.trajectory = trajectory
    names = ("text", "made_at", "edited_at", "resolved_at")
    return {name: getattr(comment, name) for name in names} | {
        "id": comment.pk,
        "place": place_of(comment).key,
        "by": username(comment.author),
        "mine": comment.author_id == user.pk,
        "mentions": sorted(one.get_username() for one in comment.mentions.all()),
        "url": saying.address(comment),
    }


@router.post(COMMENTS, response={201: CommentOut})
@in_project(Action.ANNOTATE)
def add_comment(request: Any, dataset: Number, example: str, body: NewComment) -> Any:
    """Comment on a trajectory, a turn or a call. Users mentioned with @ are notified."""
    found = one_trajectory(request.project, dataset, example)
    at = parse_place(found, body.place)
    return serialize_comment(
        save_or_refuse(lambda: saying.post_comment(found, request.user, body.text, at)), found, request.user
    )


@router.put(COMMENT, response=CommentOut)
@in_project(Action.ANNOTATE)
def edit_comment(request: Any, dataset: Number, example: str, comment: Key, body: CommentText) -> Any:
    """Edit your own comment."""
    found = one_trajectory(request.project, dataset, example)
    said = get_own_comment(request, found, comment, removed_at=None)
    save_or_refuse(lambda: saying.rewrite(said, body.text))
    return serialize_comment(said, found, request.user)


@router.delete(COMMENT, response=CommentRemoved)
@in_project(Action.ANNOTATE)
def remove_comment(request: Any, dataset: Number, example: str, comment: Key) -> Any:
    """Remove your own comment; it can be restored."""
    said = get_own_comment(request, one_trajectory(request.project, dataset, example), comment)
    if said.removed_at is None:
        saying.remove(said)
    return {"removed": said.pk}


@router.post(f"{COMMENT}/restore", response=CommentOut)
@in_project(Action.ANNOTATE)
def restore_comment(request: Any, dataset: Number, example: str, comment: Key) -> Any:
    """Restore your own removed comment."""
    found = one_trajectory(request.project, dataset, example)
    said = get_own_comment(request, found, comment)
    if said.removed_at is not None:
        saying.put_back(said)
    return serialize_comment(said, found, request.user)


@router.post(f"{COMMENTS}/resolve", response=ThreadResolutionOut)
@in_project(Action.ANNOTATE)
def resolve_thread(request: Any, dataset: Number, example: str, body: ThreadResolutionIn) -> Any:
    """Resolve the thread at a place, or reopen it."""
    found = one_trajectory(request.project, dataset, example)
    saying.resolve(found, request.user, parse_place(found, body.place), undo=not body.resolved)
    return {"place": body.place, "resolved": body.resolved}


def get_own_comment(request: Any, found: Trajectory, comment: int, **more: Any) -> Comment:
    """Raises Http404, Refused."""
    said = get_object_or_404(saying.known_comments(found, request.user), pk=comment, **more)
    if said.author_id != request.user.pk:
        raise ApiError(403, NOT_YOURS, request.path, "Add your own comment.")
    said.trajectory = found
    return said


def parse_place(found: Trajectory, place: str) -> Place:
    """Raises Refused."""
    at = read_place(place)
    if at not in places(found):
        problem = f"This trajectory has no {at.title.lower()}."
        raise ApiError(422, problem, "body.place", "Choose an existing turn or call.")
    return at


def save_or_refuse(say: Any) -> Any:
    try:
        return say()
    except NotSaid as why:
        raise ApiError(422, str(why), "body.text", "Change it and send it again.") from None


@router.get(f"{TRAJECTORY}/acceptances", response=list[AcceptanceOut])
@in_project(Action.VIEW)
def list_acceptances(request: Any, dataset: Number, example: str) -> Any:
    """List the acceptances of a trajectory, newest first; 409 while your blind review is pending."""
    found = get_unblinded(request, dataset, example)
    rows = found.acceptances.select_related("accepted_by", "item__queue").order_by("-pk")
    return [serialize_acceptance(one, today(found.servers)) for one in rows[:MOST]]


@router.post(f"{TRAJECTORY}/accept", response={201: AcceptanceOut})
@in_project(Action.ANNOTATE)
def accept_trajectory(request: Any, dataset: Number, example: str, body: AcceptanceIn) -> Any:
    """Replay a trajectory and accept it; a reason is required if the replay differs."""
    found = get_unblinded(request, dataset, example)
    try:
        return serialize_acceptance(accept(found, request.user, reason=body.reason), today(found.servers))
    except ReplayDriftError as drifted:
        do = "Give a reason to accept it anyway."
        raise ApiError(422, f"The replay differs: {drifted}", "body.reason", do) from None
    except NotChecked as why:
        raise ApiError(409, str(why), "example", "Nothing was accepted.") from None


def serialize_acceptance(one: Acceptance, code: str) -> dict[str, Any]:
    return {
        "by": username(one.accepted_by),
        "accepted_at": one.accepted_at,
        "drift": one.drift,
        "reason": one.reason,
        "queue": one.item.queue.number if one.item else None,
        "same": one.fingerprint == code,
    }
