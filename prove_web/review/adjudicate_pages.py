"""Page that adjudicates disagreement: the reviewers' answers side by side, and the adjudicator's own."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from prove_web.accounts.permissions import Action, ProjectRequest, in_project

from .acceptance import NotChecked, ReplayDriftError
from .annotation_targets import Shape, shape_of
from .blinding import blind_since
from .consensus import complete, find_next_conflict
from .history import history
from .item_page import (
    CONFLICTING,
    Refusal,
    build_item_context,
    edit_address,
    item_of,
    parse_submission,
    refusal,
    respond_refused,
    respond_saved,
    wants_json,
)
from .markdown import render_markdown
from .models import Item, Queue
from .queue_pages import one_queue
from .review_diff import build_comparison_rows, get_unanimous_answers
from .review_form import sheet
from .review_services import ReviewError, finish, get_user_review, save_draft
from .schema import read_schema


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD"])
def open_next_conflict(request: ProjectRequest, queue: int) -> HttpResponse:
    """Go to the first item in conflict after the one that the URL names."""
    found = one_queue(request.project, queue)
    after = request.GET.get("after", "")
    return redirect(
        get_next_conflict_url(
            request, found, int(after) if after.isascii() and after.isdigit() and len(after) < 9 else 0
        )
    )


def get_next_conflict_url(request: ProjectRequest, queue: Queue, after: int) -> str:
    """Return the URL of the next item in conflict; that of the queue, with a message, if there is none."""
    if (item := find_next_conflict(queue, after)) is None:
        messages.success(request, "No item of this queue is in conflict.")
        return str(queue.get_absolute_url())
    return reverse("review-adjudicate", args=[*request.project.path, queue.number, item.position])


@in_project(Action.LAUNCH)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def adjudicate(request: ProjectRequest, queue: int, position: int) -> HttpResponse:
    """Show an item with its reviewers' answers and the form that settles it."""
    item = item_of(request, queue, position)
    shape = shape_of(item.trajectory)
    if item.state == Item.State.OPEN:
        why = f"Item {item.position} is still being reviewed and cannot be adjudicated yet."
        if request.method == "POST" and wants_json(request):
            return respond_refused(Refusal(why, status=CONFLICTING))
        messages.info(request, why)
        return redirect(item.queue)
    return submit_adjudication(request, item, shape) if request.method == "POST" else page(request, item, shape)


def submit_adjudication(request: ProjectRequest, item: Item, shape: Shape) -> HttpResponse:
    """Save the draft, or settle the item."""
    filled, action = parse_submission(request, item, shape), request.POST.get("action", "")
    try:
        if action == "draft":
            return respond_saved(save_draft(item, request.user, filled, adjudicates=True))
        finish(item, request.user, filled, request.POST.get("reason", ""), adjudicates=True)
    except (ReviewError, ReplayDriftError, NotChecked) as why:
        refused = refusal(why)
        return (
            respond_refused(refused)
            if action == "draft" or wants_json(request)
            else page(request, item, shape, refused)
        )
    address = get_next_conflict_url(request, item.queue, item.position)
    return JsonResponse({"next": address}) if wants_json(request) else redirect(address)


def page(request: ProjectRequest, item: Item, shape: Shape, refused: Refusal | None = None) -> HttpResponse:
    """Render the page; a form without a draft is prefilled with what all reviewers agree on."""
    schema = read_schema(item.queue.schema)
    own = get_user_review(item, request.user, adjudicates=True)
    reviews = list(complete(item).order_by("done_at", "pk").select_related("reviewer"))
    posted = dict(request.POST.lists()) if refused else None if own else get_unanimous_answers(reviews)
    context = {
        **build_item_context(item, blind=blind_since(item.trajectory, request.user) is not None),
        "sheet": sheet(schema, shape, own, posted, refused.faults if refused else None),
        "review": own,
        "refused": refused,
        "instructions": render_markdown(item.queue.instructions),
        "others": reviews,
        "answers": build_comparison_rows(schema, shape, reviews),
        "edit": edit_address(item),
        "conflicts": item.queue.items.filter(state=Item.State.CONFLICT).count(),
        "reason": request.POST.get("reason", ""),
        "kind": "adjudicate",
        "history": history(item),
    }
    return render(request, "review/adjudicate.html", context, status=refused.status if refused else 200)
