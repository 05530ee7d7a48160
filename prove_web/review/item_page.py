"""Shared parts of an item's pages: lookup, parsing of the form, and responses to refused forms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.http import JsonResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse

from prove_web.accounts.permissions import ProjectRequest
from prove_web.trajectories.detail_context import build_reading_context
from prove_web.trajectories.metadata import row_of

from .acceptance import AcceptanceCheck, NotChecked, ReplayDriftError
from .annotation_targets import Shape
from .answer_forms import Read, read, values
from .models import Item, Review
from .review_services import InvalidAnswersError, ReviewError, SaveResult, Stale, Submission
from .schema import read_schema

MOST_REVISIONS = 10**9
DAY = 86_400.0
UNPROCESSABLE, CONFLICTING = 422, 409


@dataclass(frozen=True)
class Refusal:
    """Refusal of a form, for its page: `other` is what was saved elsewhere, `checked` a replay that drifted."""

    fault: str = ""
    faults: dict[str, str] = field(default_factory=dict)
    other: Review | None = None
    checked: AcceptanceCheck | None = None
    status: int = UNPROCESSABLE


def item_of(request: ProjectRequest, queue: int, position: int) -> Item:
    rows = Item.objects.select_related(
        "queue__project__organisation",
        "settled_by",
        "trajectory__dataset__project__organisation",
        "trajectory__dataset__job",
    ).filter(trajectory__dataset__deleted_at=None)
    found: Item = get_object_or_404(rows, queue__project=request.project, queue__number=queue, position=position)
    return found


def parse_submission(request: ProjectRequest, item: Item, shape: Shape) -> Submission:
    """Parse the form; invalid numbers count as 0."""
    answers: Read = read(read_schema(item.queue.schema), shape, dict(request.POST.lists()))
    revision = number(request.POST.get("revision", ""), MOST_REVISIONS)
    return Submission(answers, int(revision), number(request.POST.get("seconds", ""), DAY))


def number(text: str, most: float) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if 0 <= value <= most else 0.0


def refusal(why: ReviewError | ReplayDriftError | NotChecked) -> Refusal:
    """Return a refusal for its page."""
    if isinstance(why, ReplayDriftError):
        return Refusal("Not accepted: the replay on the current servers differs.", checked=why.checked)
    if isinstance(why, InvalidAnswersError):
        return Refusal(str(why), why.faults)
    if isinstance(why, Stale):
        return Refusal(str(why), other=why.review, status=CONFLICTING)
    if isinstance(why, NotChecked):
        return Refusal(f"Not accepted. {why}")
    return Refusal(str(why), status=CONFLICTING)


def wants_json(request: ProjectRequest) -> bool:
    return request.headers.get("Accept", "").startswith("application/json")


def respond_saved(result: SaveResult) -> JsonResponse:
    """Return the response for a saved draft."""
    saved = result.review.saved_at.isoformat()
    return JsonResponse({"revision": result.review.revision, "saved": saved, "extra": result.extra})


def respond_refused(refused: Refusal) -> JsonResponse:
    """Return a refusal for the page's script; what was saved elsewhere comes as form fields."""
    data: dict[str, Any] = {"fault": refused.fault, "faults": refused.faults}
    if refused.other:
        fields = values(refused.other.answers) | {"comment": [refused.other.comment]}
        data |= {"revision": refused.other.revision, "fields": fields, "state": refused.other.state}
    return JsonResponse(data, status=refused.status)


def build_item_context(item: Item, blind: bool) -> dict[str, Any]:
    """Return the context of an item's trajectory for all of its pages."""
    return {
        "item": item,
        "queue": item.queue,
        "row": row_of(item.trajectory),
        **build_reading_context(item.trajectory, blind=blind),
    }


def edit_address(item: Item) -> str:
    """Return the URL of the trajectory's edit page, which returns to this item."""
    path, trajectory = item.queue.project.path, item.trajectory
    page = reverse("trajectory-fix", args=[*path, trajectory.dataset.number, trajectory.example])
    return f"{page}?item={item.queue.number}/{item.position}"
