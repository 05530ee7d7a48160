"""Pages for reviewers: one item after another, saved while typing, completed, skipped, undone."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models import Count, Q, Sum
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.trajectories.page_links import edits_of

from .acceptance import NotChecked, ReplayDriftError
from .annotation_targets import Shape, shape_of
from .assignment import next_item, take
from .blinding import blind_since
from .history import history
from .item_page import (
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
from .models import Item, Queue, Review
from .progress import HOUR
from .queue_pages import one_queue
from .review_diff import build_comparison_rows
from .review_form import sheet
from .review_services import ReviewError, finish, get_user_review, last_of, save_draft, skip, undo
from .schema import read_schema


@in_project(Action.ANNOTATE)
@require_http_methods(["GET", "HEAD"])
def open_next_item(request: ProjectRequest, queue: int) -> HttpResponse:
    """Go to the next item that needs this user, after the one that the URL names."""
    found = one_queue(request.project, queue)
    after = request.GET.get("after", "")
    return redirect(
        get_next_item_url(request, found, int(after) if after.isascii() and after.isdigit() and len(after) < 9 else 0)
    )


def get_next_item_url(request: ProjectRequest, queue: Queue, after: int) -> str:
    """Return the URL of the next item; that of the queue, with a message, if nothing is left."""
    item = next_item(queue, request.user, after)
    if item is not None:
        return reverse("review", args=[*request.project.path, queue.number, item.position])
    if queue.closed_at:
        messages.warning(request, "This queue is closed. Drafts are kept until it is reopened.")
    else:
        messages.success(request, "No items left for you in this queue: all are reviewed or locked by other reviewers.")
    return str(queue.get_absolute_url())


@in_project(Action.ANNOTATE)
@require_POST
def undone(request: ProjectRequest, queue: int) -> HttpResponse:
    """Undo the user's last complete or skipped review of the queue, or that of the given item, and go there."""
    found = one_queue(request.project, queue)
    named = request.POST.get("position", "")
    item = (
        found.items.filter(position=named).first() if named.isascii() and named.isdigit() and len(named) < 9 else None
    )
    item = item or last_of(found, request.user)
    if item is None:
        messages.info(request, "There is nothing to undo in this queue.")
        return redirect(found)
    try:
        undo(item, request.user)
    except ReviewError as why:
        messages.error(request, str(why))
    else:
        messages.success(request, f"Your review of item {item.position} is a draft again.")
    return redirect("review", *request.project.path, found.number, item.position)


@in_project(Action.ANNOTATE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def review(request: ProjectRequest, queue: int, position: int) -> HttpResponse:
    """Show an item beside the questions of its queue."""
    item = item_of(request, queue, position)
    shape = shape_of(item.trajectory)
    if request.method == "POST":
        return submit_review(request, item, shape)
    return page(request, item, shape)


def submit_review(request: ProjectRequest, item: Item, shape: Shape) -> HttpResponse:
    """Perform a button's action with the form's input."""
    action, filled = request.POST.get("action", ""), parse_submission(request, item, shape)
    try:
        if action == "draft":
            return respond_saved(save_draft(item, request.user, filled))
        if action == "skip":
            skip(item, request.user, filled)
        else:
            saved = finish(item, request.user, filled, request.POST.get("reason", ""))
            if saved.extra:
                note = "Your review is saved as an extra review and does not count for the consensus."
                messages.info(request, f"Item {item.position} already has all its reviews. {note}")
    except (ReviewError, ReplayDriftError, NotChecked) as why:
        refused = refusal(why)
        return (
            respond_refused(refused)
            if action == "draft" or wants_json(request)
            else page(request, item, shape, refused)
        )
    address = get_next_item_url(request, item.queue, item.position)
    return JsonResponse({"next": address}) if wants_json(request) else redirect(address)


def page(request: ProjectRequest, item: Item, shape: Shape, refused: Refusal | None = None) -> HttpResponse:
    """Render the page of an item, with the submitted input if it was refused."""
    queue, user = item.queue, request.user
    own = get_user_review(item, user)
    done = own is not None and own.state == Review.State.DONE
    held = not done and take(item, user)
    blind = (queue.blind and not done) or blind_since(item.trajectory, user) is not None  # in another queue
    schema = read_schema(queue.schema)
    posted = dict(request.POST.lists()) if refused else None
    others = [] if blind else list(complete_of(item).exclude(reviewer=user).select_related("reviewer"))
    context = {
        **build_item_context(item, blind),
        "sheet": sheet(schema, shape, own, posted, refused.faults if refused else None),
        "review": own,
        "done": done,
        "extra": not held and not done and queue.closed_at is None,
        "refused": refused,
        "instructions": render_markdown(queue.instructions),
        "others": others,
        "answers": build_comparison_rows(schema, shape, others),
        "around": get_adjacent_positions(item),
        "edit": edit_address(item),
        "fixed": [] if blind else edits_of(item.trajectory),
        "pace": compute_review_rate(queue, user),
        "reason": request.POST.get("reason", ""),
        "blind": blind,
        "kind": "review",
        "history": [] if blind else history(item),
    }
    return render(request, "review/review.html", context, status=refused.status if refused else 200)


def complete_of(item: Item) -> Any:
    return item.reviews.filter(state=Review.State.DONE).order_by("adjudicates", "done_at", "pk")


def get_adjacent_positions(item: Item) -> dict[str, int | None]:
    """Return the positions before and after an item, skipping deleted datasets, and the number of items."""
    there = item.queue.items.filter(trajectory__dataset__deleted_at=None).order_by("position")
    places = there.values_list("position", flat=True)
    return {
        "before": places.filter(position__lt=item.position).last(),
        "after": places.filter(position__gt=item.position).first(),
        "count": item.queue.items.count(),
    }


def compute_review_rate(queue: Queue, user: Any) -> dict[str, Any]:
    """Return how many items of a queue a user completed, and the number per hour of review time."""
    rows = Review.objects.filter(item__queue=queue, reviewer=user, adjudicates=False, state=Review.State.DONE)
    timed = Q(seconds__gt=0)
    sums = rows.aggregate(done=Count("pk"), timed=Count("pk", timed), spent=Sum("seconds"))
    return {"done": sums["done"], "rate": HOUR * sums["timed"] / sums["spent"] if sums["spent"] else None}
