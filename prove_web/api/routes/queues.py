"""API operations for review queues and their labels."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import Field

from prove_web.accounts import audit
from prove_web.accounts.roles import Action
from prove_web.review.blinding import Blind
from prove_web.review.create_queue import close
from prove_web.review.forms import NewQueue, QueueForm, as_initial
from prove_web.review.labels import QueueItemFilter, filter_items, labels
from prove_web.review.models import Queue
from prove_web.review.progress import standings
from prove_web.review.queue_form_pages import queue_of, update_queue
from prove_web.review.queue_pages import one_queue
from prove_web.review.sample_info import describe_sample
from prove_web.review.schema import PLAIN, BadSchema, LabelSchema, read_schema

from ..errors import ApiError, ill_filled
from ..form_schemas import body_of, build_query_dict
from ..paging import Cursor, Limit, Number, Piece, by_key
from ..permissions import in_project
from ..schemas import StrictSchema, username
from ..streaming import stream_json_lines

router = Router(tags=["Review"])
QUEUES = "/{slug:organisation}/{slug:project}/review"
QUEUE = QUEUES + "/{int:queue}"
STATES = Literal["", "open", "conflict", "settled"]
PEOPLE = (list[str] | None, Field(None, max_length=1_000, description="Usernames of the assigned reviewers."))
Make = body_of(
    NewQueue,
    "MakeQueue",
    optional=True,
    people=PEOPLE,
    name=(str, Field(max_length=80)),
    questions=(list[dict[str, Any]] | None, Field(None, max_length=20, description="The first is the verdict.")),
)
Change = body_of(
    QueueForm,
    "ChangeQueue",
    optional=True,
    people=PEOPLE,
    questions=(list[dict[str, Any]] | None, Field(None, max_length=20, description="Only until the first answer.")),
)


class QueueClosure(StrictSchema):
    closed: bool = Field(True, description="false reopens it.")


class QueueOut(Schema):
    """A review queue and its numbers of open, conflicting and settled items."""

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


class QueueDetail(QueueOut):
    questions: list[dict[str, Any]]
    source: dict[str, Any]
    sampling: dict[str, Any]


@router.get(QUEUES, response=Piece[QueueOut])
@in_project(Action.VIEW)
def list_queues(request: Any, cursor: Cursor = "", limit: Limit = 25) -> Any:
    """List the project's review queues, newest first."""
    rows = Queue.objects.filter(project=request.project).select_related("project__organisation", "created_by")
    page = by_key(rows, "number", cursor, limit)
    stands = standings(page["items"])
    return page | {"items": [serialize_queue(queue, stands[queue.pk]) for queue in page["items"]]}


def serialize_queue(queue: Queue, standing: Any) -> dict[str, Any]:
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


def serialize_queue_detail(request: Any, queue: Queue) -> dict[str, Any]:
    """Serialize a queue with its questions; a search by reward stays hidden until the user's blind reviews are done."""
    return serialize_queue(queue, standings([queue])[queue.pk]) | describe_sample(
        queue, Blind(request.user, request.project)
    )


@router.post(QUEUES, response={201: QueueDetail})
@in_project(Action.LAUNCH)
def make_queue(request: Any, body: Make) -> Any:  # type: ignore[valid-type]
    """Create a queue from a search. Without `questions` it uses the form's default questions."""
    sent = {name: value for name, value in body.dict(exclude_unset=True).items() if value is not None}
    questions = sent.pop("questions", None)
    start = {name: field.initial for name, field in NewQueue.base_fields.items() if field.initial is not None}
    form = NewQueue(request.project, build_query_dict(start | queue_form_data(request.project, sent)))
    if not form.is_valid():
        raise ill_filled(form.errors)
    made = queue_of(form, request.user, parse_questions(questions))
    if made is None:
        raise ill_filled(form.errors)
    return serialize_queue_detail(request, made)


def queue_form_data(project: Any, sent: dict[str, Any]) -> dict[str, Any]:
    """Convert the body to the data of the queue form, which identifies people by id instead of by name."""
    if (people := sent.get("people")) is None:
        return sent
    numbers = dict(project.organisation.memberships.values_list("user__username", "user"))
    return sent | {"people": [str(numbers.get(name, name)) for name in people]}


def parse_questions(questions: Any) -> LabelSchema:
    """Raises Refused."""
    if questions is None:
        return PLAIN
    try:
        return read_schema({"questions": questions})
    except BadSchema as why:
        raise ApiError(422, str(why), "body.questions", "Fix the question.") from None


@router.get(QUEUE, response=QueueDetail)
@in_project(Action.VIEW)
def read_queue(request: Any, queue: Number) -> Any:
    """Return one queue with its questions."""
    return serialize_queue_detail(request, one_queue(request.project, queue))


@router.post(f"{QUEUE}/change", response=QueueDetail)
@in_project(Action.LAUNCH)
def change_queue(request: Any, queue: Number, body: Change) -> Any:  # type: ignore[valid-type]
    """Change a queue's settings; omitted fields stay unchanged. Questions can't change after the first answer."""
    found = one_queue(request.project, queue)
    sent = {name: value for name, value in body.dict(exclude_unset=True).items() if value is not None}
    questions = sent.pop("questions", None)
    if questions is not None and found.items.filter(reviews__isnull=False).exists():
        problem = "This queue has answers, so its questions can't be changed."
        raise ApiError(409, problem, "body.questions", "Create another queue.")
    schema = read_schema(found.schema) if questions is None else parse_questions(questions)
    form = QueueForm(request.project, build_query_dict(as_initial(found) | queue_form_data(request.project, sent)))
    if not form.is_valid():
        raise ill_filled(form.errors)
    update_queue(found, form, request.user, schema)
    return serialize_queue_detail(request, one_queue(request.project, queue))


@router.post(f"{QUEUE}/close", response=QueueDetail)
@in_project(Action.LAUNCH)
def close_queue(request: Any, queue: Number, body: QueueClosure) -> Any:
    """Close a queue for further answers, or reopen it; drafts are kept."""
    found = one_queue(request.project, queue)
    if body.closed != (found.closed_at is not None):
        close(found, timezone.now() if body.closed else None)
    return serialize_queue_detail(request, one_queue(request.project, queue))


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
    """Export each complete or skipped review of a queue as JSON lines."""
    found = one_queue(request.project, queue)
    blind = Blind(request.user, request.project)
    left = filter_items(found, QueueItemFilter(state, verdict, reviewer, q), blind)
    if left.fault:
        raise ApiError(422, left.fault, "query.q", "Change the query.")
    name = f"labels-{request.project.slug}-{found.number}.jsonl"
    audit.note(None, "exported", found, request.organisation, labels=name)
    return stream_json_lines(labels(found, left.rows, blind), name)
