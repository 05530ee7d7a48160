"""API operations for the items of a review queue and their reviews."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import Query, Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.review.acceptance import NotChecked, ReplayDriftError
from prove_web.review.annotation_targets import Shape, shape_of
from prove_web.review.answer_forms import read, values
from prove_web.review.assignment import next_item, take
from prove_web.review.blinding import Blind
from prove_web.review.item_page import item_of, refusal
from prove_web.review.labels import QueueItemFilter, filter_items
from prove_web.review.models import Item, Queue, Review
from prove_web.review.queue_pages import one_queue
from prove_web.review.review_services import ReviewError as NotTaken
from prove_web.review.review_services import (
    SaveResult,
    Stale,
    Submission,
    finish,
    get_user_review,
    save_draft,
    skip,
    undo,
)
from prove_web.review.schema import read_schema

from ..errors import ApiError
from ..paging import Cursor, Limit, Number, Piece, by_key
from ..permissions import in_project
from ..schemas import StrictSchema, username
from .queues import QUEUE, STATES

router = Router(tags=["Review"])
ITEM = QUEUE + "/items/{int:position}"
Answer = str | int | list[str]


class ItemOut(Schema):
    position: int
    dataset: int
    example: str
    state: str
    verdict: str
    own: str | None
    url: str


class ReviewOut(Schema):
    """A review: answers by question name, those on turns and calls by number."""

    state: str
    answers: dict[str, Any]
    comment: str
    seconds: float
    revision: int
    by: str | None
    done_at: datetime | None

    @staticmethod
    def resolve_by(review: Review) -> str | None:
        return username(review.reviewer)


class ItemDetail(ItemOut):
    """`mine` is your own review; `others` are complete ones, if you may see them."""

    turns: list[dict[str, Any]]
    calls: list[dict[str, Any]]
    mine: ReviewOut | None
    others: list[ReviewOut]


class ReviewIn(StrictSchema):
    """Answers by question name. `revision` is the revision of the review being overwritten; 0 for a new one."""

    answers: dict[str, Answer] = Field({}, max_length=40)
    turns: dict[int, dict[str, Answer]] = Field({}, max_length=1_000, description="By turn number.")
    calls: dict[int, dict[str, Answer]] = Field({}, max_length=1_000, description="By call number.")
    corrected: dict[int, dict[str, Any]] = Field(
        {}, max_length=1_000, description="Corrected arguments by call number."
    )
    comment: str = Field("", max_length=50_000)
    seconds: float = Field(0, ge=0, le=86_400)
    revision: int = Field(0, ge=0, le=10**9)
    reason: str = Field("", max_length=5_000, description="Reason for accepting although the replay differs.")
    action: Literal["finish", "draft", "skip"] = "finish"


class SavedReviewOut(Schema):
    """`extra`: the review exceeds the required number, so it does not affect the result."""

    review: ReviewOut
    extra: bool
    state: str


@router.get(f"{QUEUE}/items", response=Piece[ItemOut])
@in_project(Action.VIEW)
def list_items(request: Any, queue: Number, state: STATES = "", cursor: Cursor = "", limit: Limit = 50) -> Any:
    """List the items of a queue in order; in a blind queue, verdicts are hidden until your own review is complete."""
    found = one_queue(request.project, queue)
    blind = Blind(request.user, request.project)
    rows = filter_items(found, QueueItemFilter(state), blind).rows.select_related("trajectory__dataset")
    rows = rows.defer("trajectory__record", "trajectory__rollout")
    page = by_key(rows, "position", cursor, limit, downwards=False)
    own = Review.objects.filter(item__in=[item.pk for item in page["items"]], reviewer=request.user, adjudicates=False)
    reviews = {review.item_id: review for review in own}
    waiting = blind.find_hidden_ids(item.trajectory_id for item in page["items"])
    return page | {
        "items": [serialize_review_item(found, item, reviews.get(item.pk), waiting) for item in page["items"]]
    }


def serialize_review_item(queue: Queue, item: Item, own: Review | None, waiting: Collection[int]) -> dict[str, Any]:
    """Serialize an item of a list; `waiting` are the trajectories whose reviews are still hidden from the user."""
    item.queue = queue
    return {
        "position": item.position,
        "dataset": item.trajectory.dataset.number,
        "example": item.trajectory.example,
        "state": item.state,
        "verdict": "" if item.trajectory_id in waiting else item.verdict,
        "own": own.state if own else None,
        "url": item.get_absolute_url(),
    }


@router.get(f"{QUEUE}/next", response=ItemOut | None)
@in_project(Action.ANNOTATE)
def next_to_review(request: Any, queue: Number, after: Annotated[int, Query(ge=0, le=10**9 - 1)] = 0) -> Any:
    """Return the next item that needs your review and lock it for you; null if there is none."""
    found = one_queue(request.project, queue)
    item = next_item(found, request.user, after)
    waiting = waiting_of(request, item) if item else ()
    return serialize_review_item(found, item, get_user_review(item, request.user), waiting) if item else None


def waiting_of(request: Any, item: Item) -> set[int]:
    return Blind(request.user, request.project).find_hidden_ids([item.trajectory_id])


@router.get(ITEM, response=ItemDetail)
@in_project(Action.ANNOTATE)
def read_item(request: Any, queue: Number, position: Number) -> Any:
    """Return one item: its questions, your own review, and, if you may see them, other reviews."""
    item = item_of(request, queue, position)
    own, shape = get_user_review(item, request.user), shape_of(item.trajectory)
    done = own is not None and own.state == Review.State.DONE
    if not done:
        take(item, request.user)
    complete = item.reviews.filter(state=Review.State.DONE).exclude(reviewer=request.user).select_related("reviewer")
    waiting = waiting_of(request, item)
    return serialize_review_item(item.queue, item, own, waiting) | {
        "turns": [{"number": one.number, "text": one.text} for one in shape.turns],
        "calls": [{"number": one.number, "tool": one.tool, "arguments": one.arguments} for one in shape.calls],
        "mine": own,
        "others": list(complete) if not waiting and (done or not item.queue.blind) else [],
    }


@router.put(f"{ITEM}/review", response=SavedReviewOut)
@in_project(Action.ANNOTATE)
def submit_review(request: Any, queue: Number, position: Number, body: ReviewIn) -> Any:
    """Complete your review of an item, save it as a draft, or skip the item. 409 if it was saved elsewhere."""
    item = item_of(request, queue, position)
    given = build_submission(item, shape_of(item.trajectory), body)
    try:
        if body.action == "draft":
            saved = save_draft(item, request.user, given)
        elif body.action == "skip":
            saved = skip(item, request.user, given)
        else:
            saved = finish(item, request.user, given, body.reason)
    except (NotTaken, ReplayDriftError, NotChecked) as why:
        raise refuse_review(why) from None
    return serialize_saved_review(saved)


def serialize_saved_review(saved: SaveResult) -> dict[str, Any]:
    state = Item.objects.values_list("state", flat=True).get(pk=saved.review.item_id)
    return {"review": saved.review, "extra": saved.extra, "state": state}


def build_submission(item: Item, shape: Shape, body: ReviewIn) -> Submission:
    """Convert the body to what the page's form sends, so that the same code validates it."""
    answers: dict[str, Any] = {**body.answers}
    for group in ("turns", "calls", "corrected"):
        answers[group] = {str(number): answer for number, answer in getattr(body, group).items()}
    fields = values(answers) | {"comment": [body.comment]}
    return Submission(read(read_schema(item.queue.schema), shape, fields), body.revision, body.seconds)


def refuse_review(why: NotTaken | ReplayDriftError | NotChecked) -> ApiError:
    """Return the error for a rejected review: 422 if it is invalid, 409 if another version was saved."""
    refused = refusal(why)
    faults = {f"body.{name}" if name else "body": text for name, text in refused.faults.items()}
    do = "Give a reason to accept it anyway, or choose another verdict." if isinstance(why, ReplayDriftError) else ""
    do = do or ("Read the item again and send its revision." if isinstance(why, Stale) else "Change the review.")
    return ApiError(refused.status, refused.fault, next(iter(faults), "body"), do, faults)


@router.post(f"{ITEM}/undo", response=ReviewOut)
@in_project(Action.ANNOTATE)
def undo_review(request: Any, queue: Number, position: Number) -> Any:
    """Turn your complete or skipped review back into a draft."""
    try:
        return undo(item_of(request, queue, position), request.user)
    except NotTaken as why:
        raise refuse_review(why) from None
