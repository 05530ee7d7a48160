"""Review: queues, what is to be reviewed in them, what one answers, and the labels that came of it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import Query, Router, Schema
from pydantic import Field

from prove_web.accounts import audit
from prove_web.accounts.roles import Action
from prove_web.review.accepting import Drifted, NotChecked
from prove_web.review.answering import read, values
from prove_web.review.blind import Blind
from prove_web.review.drawn import drawn
from prove_web.review.forms import NewQueue
from prove_web.review.holding import next_item, take
from prove_web.review.item_page import item_of, refusal
from prove_web.review.labels import Narrowed, labels, narrowed
from prove_web.review.models import Item, Queue, Review
from prove_web.review.progress import standings
from prove_web.review.queue_form_pages import queue_of
from prove_web.review.queue_pages import one_queue
from prove_web.review.reviewing import Given, Kept, Stale, finish, mine, save_draft, skip, undo
from prove_web.review.reviewing import Refused as NotTaken
from prove_web.review.schema import PLAIN, BadSchema, LabelSchema, read_schema
from prove_web.review.shape import Shape, shape_of

from ..paging import Cursor, Limit, Number, Piece, by_key
from ..posted import body_of, posted
from ..refusals import Refused, ill_filled
from ..rules import in_project
from ..schemas import Strict, username
from ..streaming import lines

router = Router(tags=["Review"])
QUEUES = "/{slug:organisation}/{slug:project}/review"
QUEUE = QUEUES + "/{int:queue}"
ITEM = QUEUE + "/items/{int:position}"
STATES = Literal["", "open", "conflict", "settled"]
Answer = str | int | list[str]
PEOPLE = (list[str] | None, Field(None, max_length=1_000, description="Usernames of those it is dealt out among."))
Make = body_of(
    NewQueue,
    "MakeQueue",
    optional=True,
    people=PEOPLE,
    name=(str, Field(max_length=80)),
    questions=(list[dict[str, Any]] | None, Field(None, max_length=20, description="The first asks for the verdict.")),
)


class QueueOut(Schema):
    """A queue, and how many of its items are open, in conflict and settled."""

    number: int
    name: str
    instructions: str
    reviewers: int
    pull: bool
    blind: bool
    by: str | None
    created_at: datetime
    closed_at: datetime | None
    open: int
    conflict: int
    settled: int
    url: str


class QueueWhole(QueueOut):
    questions: list[dict[str, Any]]
    source: dict[str, Any]
    sampling: dict[str, Any]


class ItemOut(Schema):
    position: int
    dataset: int
    example: str
    state: str
    verdict: str
    own: str | None
    url: str


class ReviewOut(Schema):
    """What somebody answered: names of questions directly, those of turns and calls by number."""

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


class ItemWhole(ItemOut):
    """`mine` is one's own review; `others` are complete ones, once one may know them."""

    turns: list[dict[str, Any]]
    calls: list[dict[str, Any]]
    mine: ReviewOut | None
    others: list[ReviewOut]


class Said(Strict):
    """Answers by the names of the questions. `revision` is that of the review these are written over; 0 for none."""

    answers: dict[str, Answer] = Field({}, max_length=40)
    turns: dict[int, dict[str, Answer]] = Field({}, max_length=1_000, description="By the turn's number.")
    calls: dict[int, dict[str, Answer]] = Field({}, max_length=1_000, description="By the call's number.")
    corrected: dict[int, dict[str, Any]] = Field({}, max_length=1_000, description="Arguments it should have had.")
    comment: str = Field("", max_length=50_000)
    seconds: float = Field(0, ge=0, le=86_400)
    revision: int = Field(0, ge=0, le=10**9)
    reason: str = Field("", max_length=5_000, description="Why it is accepted although its replay differs.")
    action: Literal["finish", "draft", "skip"] = "finish"


class Submitted(Schema):
    """`extra`: it is one more than the item takes, so it decides nothing."""

    review: ReviewOut
    extra: bool
    state: str


@router.get(QUEUES, response=Piece[QueueOut])
@in_project(Action.VIEW)
def list_queues(request: Any, cursor: Cursor = "", limit: Limit = 25) -> Any:
    """The project's queues, the newest first."""
    rows = Queue.objects.filter(project=request.project).select_related("project__organisation", "created_by")
    page = by_key(rows, "number", cursor, limit)
    stands = standings(page["items"])
    return page | {"items": [told(queue, stands[queue.pk]) for queue in page["items"]]}


def told(queue: Queue, standing: Any) -> dict[str, Any]:
    names = ("number", "name", "instructions", "reviewers", "pull", "blind", "created_at", "closed_at")
    return {name: getattr(queue, name) for name in names} | {
        "by": username(queue.created_by),
        "open": standing.open,
        "conflict": standing.conflict,
        "settled": standing.settled,
        "url": queue.get_absolute_url(),
        "questions": queue.schema["questions"],
        "source": queue.source,
        "sampling": queue.sampling,
    }


@router.post(QUEUES, response={201: QueueWhole})
@in_project(Action.LAUNCH)
def make_queue(request: Any, body: Make) -> Any:  # type: ignore[valid-type]
    """A queue of what a search finds. Without questions of its own it asks those of the form."""
    sent = {name: value for name, value in body.dict(exclude_unset=True).items() if value is not None}
    questions = sent.pop("questions", None)
    start = {name: field.initial for name, field in NewQueue.base_fields.items() if field.initial is not None}
    form = NewQueue(request.project, posted(start | called(request.project, sent)))
    if not form.is_valid():
        raise ill_filled(form.errors)
    made = queue_of(form, request.user, asked_schema(questions))
    if made is None:
        raise ill_filled(form.errors)
    return told(made, standings([made])[made.pk])


def called(project: Any, sent: dict[str, Any]) -> dict[str, Any]:
    """What was sent for a queue's form, which knows people by number and not by name."""
    if (people := sent.get("people")) is None:
        return sent
    numbers = dict(project.organisation.memberships.values_list("user__username", "user"))
    return sent | {"people": [str(numbers.get(name, name)) for name in people]}


def asked_schema(questions: Any) -> LabelSchema:
    """Raises Refused."""
    if questions is None:
        return PLAIN
    try:
        return read_schema({"questions": questions})
    except BadSchema as why:
        raise Refused(422, str(why), "body.questions", "Mend the question.") from None


@router.get(QUEUE, response=QueueWhole)
@in_project(Action.VIEW)
def read_queue(request: Any, queue: Number) -> Any:
    """One queue with its questions; a search for rewards that it was drawn by is told once one's own blind reviews are
    complete."""
    found = one_queue(request.project, queue)
    return told(found, standings([found])[found.pk]) | drawn(found, Blind(request.user, request.project))


@router.get(f"{QUEUE}/items", response=Piece[ItemOut])
@in_project(Action.VIEW)
def list_items(request: Any, queue: Number, state: STATES = "", cursor: Cursor = "", limit: Limit = 50) -> Any:
    """The items of a queue, in order; of a blind one the verdicts come once one's own review is complete."""
    found = one_queue(request.project, queue)
    blind = Blind(request.user, request.project)
    rows = narrowed(found, Narrowed(state), blind).rows.select_related("trajectory__dataset")
    rows = rows.defer("trajectory__record", "trajectory__rollout")
    page = by_key(rows, "position", cursor, limit, downwards=False)
    own = Review.objects.filter(item__in=[item.pk for item in page["items"]], reviewer=request.user, adjudicates=False)
    reviews = {review.item_id: review for review in own}
    waiting = blind.among(item.trajectory_id for item in page["items"])
    return page | {"items": [line(found, item, reviews.get(item.pk), waiting) for item in page["items"]]}


def line(queue: Queue, item: Item, own: Review | None, waiting: Collection[int]) -> dict[str, Any]:
    """An item in a list; `waiting` are the trajectories of which one may not know yet what others say."""
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
    """The next item that needs you, held for you for a while; null where none does."""
    found = one_queue(request.project, queue)
    item = next_item(found, request.user, after)
    waiting = waiting_of(request, item) if item else ()
    return line(found, item, mine(item, request.user), waiting) if item else None


def waiting_of(request: Any, item: Item) -> set[int]:
    return Blind(request.user, request.project).among([item.trajectory_id])


@router.get(ITEM, response=ItemWhole)
@in_project(Action.ANNOTATE)
def read_item(request: Any, queue: Number, position: Number) -> Any:
    """One item: what is asked about, one's own review, and, once one may know them, those of others."""
    item = item_of(request, queue, position)
    own, shape = mine(item, request.user), shape_of(item.trajectory)
    done = own is not None and own.state == Review.State.DONE
    if not done:
        take(item, request.user)
    complete = item.reviews.filter(state=Review.State.DONE).exclude(reviewer=request.user).select_related("reviewer")
    waiting = waiting_of(request, item)
    return line(item.queue, item, own, waiting) | {
        "turns": [{"number": one.number, "text": one.text} for one in shape.turns],
        "calls": [{"number": one.number, "tool": one.tool, "arguments": one.arguments} for one in shape.calls],
        "mine": own,
        "others": list(complete) if not waiting and (done or not item.queue.blind) else [],
    }


@router.put(f"{ITEM}/review", response=Submitted)
@in_project(Action.ANNOTATE)
def submit_review(request: Any, queue: Number, position: Number, body: Said) -> Any:
    """Complete one's review of an item, keep it as a draft, or skip the item. 409 where it was saved elsewhere."""
    item = item_of(request, queue, position)
    given = given_by(item, shape_of(item.trajectory), body)
    try:
        if body.action == "draft":
            kept = save_draft(item, request.user, given)
        elif body.action == "skip":
            kept = skip(item, request.user, given)
        else:
            kept = finish(item, request.user, given, body.reason)
    except (NotTaken, Drifted, NotChecked) as why:
        raise not_taken(why) from None
    return submitted(kept)


def submitted(kept: Kept) -> dict[str, Any]:
    state = Item.objects.values_list("state", flat=True).get(pk=kept.review.item_id)
    return {"review": kept.review, "extra": kept.extra, "state": state}


def given_by(item: Item, shape: Shape, body: Said) -> Given:
    """The body as the page's form would have sent it, so that it is checked by the same code."""
    whole: dict[str, Any] = {**body.answers}
    for group in ("turns", "calls", "corrected"):
        whole[group] = {str(number): told for number, told in getattr(body, group).items()}
    fields = values(whole) | {"comment": [body.comment]}
    return Given(read(read_schema(item.queue.schema), shape, fields), body.revision, body.seconds)


def not_taken(why: NotTaken | Drifted | NotChecked) -> Refused:
    """Why a review was not taken: 422 with what is wrong in it, 409 where something else was saved."""
    refused = refusal(why)
    faults = {f"body.{name}" if name else "body": text for name, text in refused.faults.items()}
    do = "Give a reason to accept it all the same, or another verdict." if isinstance(why, Drifted) else ""
    do = do or ("Read the item again, and write over what it says." if isinstance(why, Stale) else "Change it.")
    return Refused(refused.status, refused.fault, next(iter(faults), "body"), do, faults)


@router.post(f"{ITEM}/undo", response=ReviewOut)
@in_project(Action.ANNOTATE)
def undo_review(request: Any, queue: Number, position: Number) -> Any:
    """Make one's complete or skipped review a draft again."""
    try:
        return undo(item_of(request, queue, position), request.user)
    except NotTaken as why:
        raise not_taken(why) from None


@router.get(f"{QUEUE}/labels")
@in_project(Action.LAUNCH)
def export_labels(
    request: Any,
    queue: Number,
    state: STATES = "",
    verdict: Literal["", "accept", "reject", "fix"] = "",
    reviewer: Annotated[str, Query(max_length=150)] = "",
    q: Annotated[str, Query(max_length=1_100)] = "",
) -> Any:
    """Each complete or skipped review of a queue's items, as JSON lines."""
    found = one_queue(request.project, queue)
    blind = Blind(request.user, request.project)
    left = narrowed(found, Narrowed(state, verdict, reviewer, q), blind)
    if left.fault:
        raise Refused(422, left.fault, "query.q", "Change the search.")
    name = f"labels-{request.project.slug}-{found.number}.jsonl"
    audit.note(None, "exported", found, request.organisation, labels=name)
    return lines(labels(found, left.rows, blind), name)
