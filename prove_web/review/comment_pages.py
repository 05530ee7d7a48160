"""Comments beside a trajectory: the panel and its actions."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from prove_web.accounts.permissions import Action, in_project
from prove_web.trajectories.models import Trajectory

from . import comments as saying
from .acceptance_pages import one_of
from .blinding import blind_since
from .comment_anchors import places, read_place
from .comments import NotSaid, known_comments, people, threads, visible_comments
from .live_hooks import read_stamp

NOT_YOURS = "Only the author can edit or remove a comment. Reply to it or resolve its thread."


@in_project(Action.VIEW)
@require_GET
def comments(request: Any, dataset: int, example: str) -> HttpResponse:
    """Show a page; for htmx the panel, or with `?part=list` only the comments."""
    found = one_of(request.project, dataset, example)
    return render_comments(request, found, full=request.GET.get("part") != "list")


@in_project(Action.ANNOTATE)
@require_POST
def comment_add(request: Any, dataset: int, example: str) -> HttpResponse:
    found, text = one_of(request.project, dataset, example), request.POST.get("text", "")
    place = read_place(request.POST.get("place", ""))
    try:
        if place not in places(found):
            raise NotSaid(f"This trajectory has no {place.title.lower()}; choose what the comment is about.")
        saying.post_comment(found, request.user, text, place)
    except NotSaid as why:
        return render_comments(request, found, fault=str(why), typed=text, chosen=place.key)
    return respond_with_comments(request, found)


@in_project(Action.ANNOTATE)
@require_http_methods(["GET", "HEAD", "POST"])
def comment_edit(request: Any, dataset: int, example: str, comment: int) -> HttpResponse:
    """Show a form in place of the comment, or save it."""
    found = one_of(request.project, dataset, example)
    said = get_object_or_404(visible_comments(found, request.user), pk=comment)
    if said.author_id != request.user.pk:
        return render_comments(request, found, fault=NOT_YOURS)
    fault = ""
    if request.method == "POST":
        said.text = request.POST.get("text", "")
        try:
            saying.rewrite(said, said.text)
            return respond_with_comments(request, found)
        except NotSaid as why:
            fault = str(why)
    context = {"trajectory": found, "comment": said, "fault": fault}
    if not request.htmx:
        return render(request, "review/comment_edit_page.html", context, status=422 if fault else 200)
    response = render(request, "review/comment_edit.html", context)
    response["HX-Retarget"], response["HX-Reswap"] = f"#comment-{said.pk}", "innerHTML"
    return response


@in_project(Action.ANNOTATE)
@require_POST
def comment_remove(request: Any, dataset: int, example: str, comment: int) -> HttpResponse:
    """Remove a comment; with `undo`, restore it."""
    found = one_of(request.project, dataset, example)
    said = get_object_or_404(known_comments(found, request.user), pk=comment)
    if said.author_id != request.user.pk:
        return render_comments(request, found, fault=NOT_YOURS)
    act = saying.put_back if request.POST.get("undo") else saying.remove
    act(said)
    return respond_with_comments(request, found)


@in_project(Action.ANNOTATE)
@require_POST
def thread_resolve(request: Any, dataset: int, example: str) -> HttpResponse:
    """Resolve a thread; with `undo`, reopen it."""
    found = one_of(request.project, dataset, example)
    place = read_place(request.POST.get("place", ""))
    saying.resolve(found, request.user, place, undo=bool(request.POST.get("undo")))
    return respond_with_comments(request, found)


def respond_with_comments(request: Any, trajectory: Trajectory) -> HttpResponse:
    if request.htmx:
        return render_comments(request, trajectory)
    path = [*trajectory.dataset.project.path, trajectory.dataset.number, trajectory.example]
    return redirect(reverse("comments", args=path))


def render_comments(request: Any, trajectory: Trajectory, *, full: bool = False, **now: Any) -> HttpResponse:
    found, blind = threads(trajectory, request.user), blind_since(trajectory, request.user) is not None
    context = {
        "trajectory": trajectory,
        "threads": found,
        "open": sum(thread.count for thread in found if not thread.resolved),
        "blind": blind,
        "stamp": "" if blind else read_stamp(str(trajectory.pk))["stamp"],
        **now,
    }
    if full or not request.htmx:
        context |= {"places": places(trajectory), "people": people(trajectory), "longest": saying.LONGEST}
    part = ("panel" if full else "list") if request.htmx else "page"
    return render(request, f"review/comments_{part}.html", context, status=200 if request.htmx or not now else 422)
