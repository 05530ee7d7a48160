"""Pages of queues: the list, one queue with its progress, closing it, and its labels as a file."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from prove_web.accounts import audit
from prove_web.accounts.permissions import Action, ProjectRequest, in_project

from .assignment import waiting_for
from .blinding import Blind
from .create_queue import close
from .labels import QueueItemFilter, as_csv, as_jsonl, filter_items, labels
from .markdown import render_markdown
from .models import Item, Queue, Review
from .progress import people_of, standings
from .sample_info import describe_sample
from .schema import VERDICTS

QUEUES_PER_PAGE, ITEMS_PER_PAGE, MINE = 25, 50, 12
FORMATS = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}


@in_project(Action.VIEW)
@require_safe
def queues(request: ProjectRequest) -> HttpResponse:
    """List all queues of the project, after the items that wait for the user."""
    rows = Queue.objects.filter(project=request.project).select_related("project__organisation", "created_by")
    page = Paginator(rows.order_by("closed_at", "-number"), QUEUES_PER_PAGE).get_page(request.GET.get("page"))
    stands = standings(page.object_list)
    waiting = waiting_for(request.user, request.project).defer("trajectory__record", "trajectory__rollout")
    lines = [{"queue": queue, "standing": stands[queue.pk]} for queue in page]
    context = {"page": page, "queues": lines, "mine": list(waiting[:MINE]), "waiting": waiting.count()}
    return render(request, "review/queues.html", context)


@in_project(Action.VIEW)
@require_safe
def queue(request: ProjectRequest, queue: int) -> HttpResponse:
    """Show a queue: its questions, its progress, each person's work, and its items."""
    found = one_queue(request.project, queue)
    by, blind = parse_filter(request), Blind(request.user, request.project)
    left = filter_items(found, by, blind)
    rows = left.rows.select_related("settled_by", "trajectory__dataset").defer(
        "trajectory__record", "trajectory__rollout"
    )
    done = Count("reviews", Q(reviews__state="done", reviews__adjudicates=False))
    page = Paginator(rows.annotate(done=done).order_by("position"), ITEMS_PER_PAGE).get_page(request.GET.get("page"))
    own = Review.objects.filter(item__in=[item.pk for item in page], reviewer=request.user, adjudicates=False)
    mine = {review.item_id: review for review in own}
    waiting = blind.find_hidden_ids(item.trajectory_id for item in page)
    people = people_of(found)
    context = {
        "queue": found,
        "standing": standings([found])[found.pk],
        **describe_sample(found, blind),
        "instructions": render_markdown(found.instructions),
        "people": people,
        "reviewers": sorted({person.user.get_username() for person in people}),
        "page": page,
        "rows": [(item, mine.get(item.pk), item.trajectory_id not in waiting) for item in page],
        "by": by,
        "blind_left": bool(waiting),
        "fault": left.fault,
        "address": urlencode(by.address),
        "states": Item.State.choices,
        "verdicts": VERDICTS,
        "last": Review.objects.filter(item__queue=found, reviewer=request.user).exclude(state="draft").exists(),
    }
    return render(request, "review/queue.html", context)


def parse_filter(request: ProjectRequest) -> QueueItemFilter:
    """Return the filter in the URL; invalid values are ignored."""
    given = {
        name: request.GET.get(name, "").replace("\0", "")[:2_000].strip()
        for name in ("state", "verdict", "reviewer", "q")
    }
    state = given["state"] if given["state"] in Item.State.values else ""
    verdict = given["verdict"] if given["verdict"] in VERDICTS else ""
    return QueueItemFilter(state, verdict, given["reviewer"], given["q"])


@in_project(Action.LAUNCH)
@require_POST
def queue_close(request: ProjectRequest, queue: int) -> HttpResponse:
    """Close a queue, or reopen it."""
    found = one_queue(request.project, queue)
    closes = found.closed_at is None
    close(found, timezone.now() if closes else None)
    text = "is closed. No more reviews can be completed; drafts are kept." if closes else "is open again."
    messages.success(request, f"“{found}” {text}")
    return redirect(found)


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD"])
def queue_labels(request: ProjectRequest, queue: int, format: str) -> HttpResponse:
    """Return the labels of the items that the URL's filter matches, as a file."""
    found = one_queue(request.project, queue)
    if format not in FORMATS:
        raise Http404
    blind = Blind(request.user, request.project)
    lines = labels(found, filter_items(found, parse_filter(request), blind).rows, blind)
    made = as_csv(found, lines) if format == "csv" else as_jsonl(lines)
    name = f"labels-{request.project.slug}-{found.number}.{format}"
    audit.note(None, "exported", found, request.organisation, labels=name)
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(made, content_type=FORMATS[format], headers=headers)


def one_queue(project: Any, number: int) -> Queue:
    rows = Queue.objects.select_related("project__organisation", "created_by")
    found: Queue = get_object_or_404(rows, project=project, number=number)
    return found
