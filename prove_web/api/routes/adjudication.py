"""API operations for adjudicating items whose reviewers disagree."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ninja import Query, Router, Schema

from prove_web.accounts.roles import Action
from prove_web.review.acceptance import NotChecked, ReplayDriftError
from prove_web.review.annotation_targets import shape_of
from prove_web.review.consensus import complete, find_next_conflict
from prove_web.review.item_page import item_of
from prove_web.review.models import Item
from prove_web.review.queue_pages import one_queue
from prove_web.review.review_services import ReviewError as NotTaken
from prove_web.review.review_services import finish, get_user_review, save_draft

from ..errors import ApiError
from ..paging import Number
from ..permissions import in_project
from .queues import QUEUE
from .reviews import (
    ITEM,
    ItemOut,
    ReviewIn,
    ReviewOut,
    SavedReviewOut,
    build_submission,
    refuse_review,
    serialize_review_item,
    serialize_saved_review,
    waiting_of,
)

router = Router(tags=["Review"])


class AdjudicationIn(ReviewIn):
    """The adjudicator's answers. `draft` saves them without adjudicating the item."""

    action: Literal["finish", "draft"] = "finish"


class Conflict(ItemOut):
    """`reviews` are the deciding reviews, oldest first; `mine` is your adjudication."""

    turns: list[dict[str, Any]]
    calls: list[dict[str, Any]]
    reviews: list[ReviewOut]
    mine: ReviewOut | None


class NextConflict(Schema):
    """The next conflicting item and the number of conflicts; `item` is null if there are none."""

    item: ItemOut | None
    conflicts: int


@router.get(f"{QUEUE}/conflicts/next", response=NextConflict)
@in_project(Action.LAUNCH)
def next_conflict(
    request: Any,
    queue: Number,
    after: Annotated[int, Query(ge=0, le=10**9 - 1, description="The position of the previous item.")] = 0,
) -> Any:
    """Return the next item whose reviewers disagree; after the last item it starts again at the first."""
    found = one_queue(request.project, queue)
    item = find_next_conflict(found, after)
    count = found.items.filter(state=Item.State.CONFLICT, trajectory__dataset__deleted_at=None).count()
    return {"item": serialize_item(request, item) if item else None, "conflicts": count}


def serialize_item(request: Any, item: Item) -> dict[str, Any]:
    return serialize_review_item(item.queue, item, get_user_review(item, request.user), waiting_of(request, item))


@router.get(f"{ITEM}/adjudication", response=Conflict)
@in_project(Action.LAUNCH)
def read_conflict(request: Any, queue: Number, position: Number) -> Any:
    """Return all reviews of an item side by side; 409 while it is still in review."""
    item = get_reviewed_item(request, queue, position)
    reviews = complete(item).order_by("done_at", "pk").select_related("reviewer")
    shape = shape_of(item.trajectory)
    return serialize_item(request, item) | {
        "turns": [{"number": one.number, "text": one.text} for one in shape.turns],
        "calls": [{"number": one.number, "tool": one.tool, "arguments": one.arguments} for one in shape.calls],
        "reviews": list(reviews),
        "mine": get_user_review(item, request.user, adjudicates=True),
    }


@router.put(f"{ITEM}/adjudication", response=SavedReviewOut)
@in_project(Action.LAUNCH)
def settle_item(request: Any, queue: Number, position: Number, body: AdjudicationIn) -> Any:
    """Adjudicate an item with your own answers, regardless of its reviews."""
    item = get_reviewed_item(request, queue, position)
    given = build_submission(item, shape_of(item.trajectory), body)
    try:
        if body.action == "draft":
            return serialize_saved_review(save_draft(item, request.user, given, adjudicates=True))
        return serialize_saved_review(finish(item, request.user, given, body.reason, adjudicates=True))
    except (NotTaken, ReplayDriftError, NotChecked) as why:
        raise refuse_review(why) from None


def get_reviewed_item(request: Any, queue: int, position: int) -> Item:
    """Return an item with reviews to adjudicate. Raises Http404, Refused."""
    item = item_of(request, queue, position)
    if item.state == Item.State.OPEN:
        problem = f"Item {position} is still in review and can't be adjudicated yet."
        raise ApiError(409, problem, "position", "Request the next conflict.")
    return item
