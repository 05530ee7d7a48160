"""What people say of a trajectory, and that they accept it: comments by place, threads, and verified acceptance."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.review import comments as saying
from prove_web.review.acceptance import LONGEST_REASON, Drifted, NotChecked, accept
from prove_web.review.acceptance_status import today
from prove_web.review.comment_anchors import PLACE, Place, places, read_place
from prove_web.review.comment_pages import NOT_YOURS
from prove_web.review.comments import LONGEST, NotSaid, place_of, visible_comments
from prove_web.review.models import Acceptance, Comment
from prove_web.trajectories.models import Trajectory
from prove_web.trajectories.views.finding import one_trajectory

from ..errors import Refused
from ..paging import Cursor, Key, Limit, Number, Piece, by_key
from ..permissions import in_project
from ..schemas import Strict, username
from .trajectories import TRAJECTORY, seen

router = Router(tags=["Trajectories"])
COMMENTS = TRAJECTORY + "/comments"
COMMENT = COMMENTS + "/{int:comment}"
MOST = 100  # acceptances that are told
WHERE = "turn-2 or call-3, counted from 1; empty for the whole trajectory."
At = Annotated[str, Field(max_length=20, pattern=f"^({PLACE.pattern})?$", description=WHERE)]


class CommentOut(Schema):
    """`text` is Markdown. A thread is all that is said at one place."""

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


class CommentText(Strict):
    text: str = Field(max_length=10 * LONGEST, description=f"Markdown; at most {LONGEST:,} characters.")


class NewComment(CommentText):
    place: At = ""


class Resolving(Strict):
    place: At = ""
    resolved: bool = Field(True, description="False opens it again.")


class Resolved(Schema):
    place: str
    resolved: bool


class CommentRemoved(Schema):
    removed: int


class AcceptanceOut(Schema):
    """That somebody accepted it. `drift` is what its replay had other than its record; `same` while its servers have
    the code on which it was replayed."""

    by: str | None
    accepted_at: datetime
    drift: list[str]
    reason: str
    queue: int | None
    same: bool


class Accepting(Strict):
    reason: str = Field("", max_length=LONGEST_REASON, description="Why, where its replay differs.")


@router.get(COMMENTS, response=Piece[CommentOut])
@in_project(Action.VIEW)
def list_comments(
    request: Any,
    dataset: Number,
    example: str,
    place: Annotated[str, Query(max_length=20, description=WHERE + " Left out, all.")] | None = None,
    cursor: Cursor = "",
    limit: Limit = 100,
) -> Any:
    """What was said of a trajectory, the oldest first. Who has yet to review it blindly sees only their own."""
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
    """Say something of a trajectory, one of its turns or one of its calls. Names after an @ are told of it."""
    found = one_trajectory(request.project, dataset, example)
    at = there(found, body.place)
    return serialize_comment(
        save_or_refuse(lambda: saying.say(found, request.user, body.text, at)), found, request.user
    )


@router.put(COMMENT, response=CommentOut)
@in_project(Action.ANNOTATE)
def edit_comment(request: Any, dataset: Number, example: str, comment: Key, body: CommentText) -> Any:
    """Write a comment of one's own anew."""
    found = one_trajectory(request.project, dataset, example)
    said = own(request, found, comment, removed_at=None)
    save_or_refuse(lambda: saying.rewrite(said, body.text))
    return serialize_comment(said, found, request.user)


@router.delete(COMMENT, response=CommentRemoved)
@in_project(Action.ANNOTATE)
def remove_comment(request: Any, dataset: Number, example: str, comment: Key) -> Any:
    """Take a comment of one's own back; it can be restored."""
    said = own(request, one_trajectory(request.project, dataset, example), comment)
    if said.removed_at is None:
        saying.remove(said)
    return {"removed": said.pk}


@router.post(f"{COMMENT}/restore", response=CommentOut)
@in_project(Action.ANNOTATE)
def restore_comment(request: Any, dataset: Number, example: str, comment: Key) -> Any:
    """Put a comment of one's own back that was removed."""
    found = one_trajectory(request.project, dataset, example)
    said = own(request, found, comment)
    if said.removed_at is not None:
        saying.put_back(said)
    return serialize_comment(said, found, request.user)


@router.post(f"{COMMENTS}/resolve", response=Resolved)
@in_project(Action.ANNOTATE)
def resolve_thread(request: Any, dataset: Number, example: str, body: Resolving) -> Any:
    """Close the thread at a place, or open it again."""
    found = one_trajectory(request.project, dataset, example)
    saying.resolve(found, request.user, there(found, body.place), undo=not body.resolved)
    return {"place": body.place, "resolved": body.resolved}


def own(request: Any, found: Trajectory, comment: int, **more: Any) -> Comment:
    """Raises Http404, Refused."""
    said = get_object_or_404(saying.known_comments(found, request.user), pk=comment, **more)
    if said.author_id != request.user.pk:
        raise Refused(403, NOT_YOURS, request.path, "Add one of your own.")
    said.trajectory = found
    return said


def there(found: Trajectory, place: str) -> Place:
    """Raises Refused."""
    at = read_place(place)
    if at not in places(found):
        told_so = f"This trajectory has no {at.title.lower()}."
        raise Refused(422, told_so, "body.place", "Choose what the comment is about.")
    return at


def save_or_refuse(say: Any) -> Any:
    try:
        return say()
    except NotSaid as why:
        raise Refused(422, str(why), "body.text", "Change it and send it again.") from None


@router.get(f"{TRAJECTORY}/acceptances", response=list[AcceptanceOut])
@in_project(Action.VIEW)
def list_acceptances(request: Any, dataset: Number, example: str) -> Any:
    """How a trajectory was accepted, the newest first; 409 for who has yet to review it blindly."""
    found = seen(request, dataset, example)
    rows = found.acceptances.select_related("accepted_by", "item__queue").order_by("-pk")
    return [accepted(one, today(found.servers)) for one in rows[:MOST]]


@router.post(f"{TRAJECTORY}/accept", response={201: AcceptanceOut})
@in_project(Action.ANNOTATE)
def accept_trajectory(request: Any, dataset: Number, example: str, body: Accepting) -> Any:
    """Replay a trajectory and keep that it was accepted; where the replay differs, that takes a reason."""
    found = seen(request, dataset, example)
    try:
        return accepted(accept(found, request.user, reason=body.reason), today(found.servers))
    except Drifted as drifted:
        do = "Give a reason to accept it all the same."
        raise Refused(422, f"Its replay differs: {drifted}", "body.reason", do) from None
    except NotChecked as why:
        raise Refused(409, str(why), "example", "Nothing was accepted.") from None


def accepted(one: Acceptance, code: str) -> dict[str, Any]:
    return {
        "by": username(one.accepted_by),
        "accepted_at": one.accepted_at,
        "drift": one.drift,
        "reason": one.reason,
        "queue": one.item.queue.number if one.item else None,
        "same": one.fingerprint == code,
    }
