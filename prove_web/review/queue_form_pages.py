"""Pages that create and edit a queue: a form that works without a script, and updates counts while one types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from prove_web.accounts.models import User
from prove_web.accounts.permissions import Action, ProjectRequest, in_project

from .create_queue import assign, change, make_queue
from .forms import NewQueue, QueueForm, as_initial
from .models import Queue
from .question_forms import KINDS, MOST_QUESTIONS, SCOPES, Editor
from .queue_pages import one_queue
from .schema import BadSchema, LabelSchema, read_schema

RESHAPES = {"add", "remove", "up", "down", "switch", "look"}
MANY = ("people",)


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD", "POST"])
def queue_new(request: ProjectRequest) -> HttpResponse:
    """Create a queue; the form starts with the search in the URL."""
    if request.method != "POST":
        begun = {"query": request.GET.get("q", "")[:2_000].replace("\0", ""), "dataset": request.GET.get("dataset")}
        begun |= {"how": request.GET.get("how") or "all"}
        return page(request, NewQueue(request.project, initial=begun), Editor.from_schema())
    editor, form = Editor.from_post(request.POST), NewQueue(request.project, request.POST)
    if RESHAPES & {*request.POST}:
        return page(
            request,
            build_unvalidated_form(NewQueue, request),
            editor.apply_button(request.POST),
            found=count_matches(form),
        )
    schema, editor = parse_questions(editor)
    if not form.is_valid() or schema is None:
        return page(request, form, editor, found=count_matches(form), status=422)
    made = queue_of(form, request.user, schema)
    if made is None:
        return page(request, form, editor, found=count_matches(form), status=422)
    size = made.items.count()
    messages.success(request, f"“{made}” has {size:,} item{'' if size == 1 else 's'} to review.")
    return redirect(made)


def queue_of(form: NewQueue, user: User, schema: LabelSchema) -> Queue | None:
    """Create the queue of a valid form; None, with form errors, if nothing matches."""
    if not (keys := form.sample_items()):
        form.add_error("query", "Nothing was found to review. Change the search or the sampling.")
        return None
    what = {**form.get_queue_fields(), **form.build_source_config(), "schema": schema.model_dump(mode="json")}
    return make_queue(form.project, user, keys, form.chosen, **what)


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD", "POST"])
def queue_edit(request: ProjectRequest, queue: int) -> HttpResponse:
    """Edit how a queue is reviewed; its questions only until somebody has answered one."""
    found = one_queue(request.project, queue)
    begun = found.items.filter(reviews__isnull=False).exists()
    here: dict[str, Any] = {"queue": found, "begun": begun}
    stored_schema = read_schema(found.schema)
    stored = Editor.from_schema(stored_schema)
    if request.method != "POST":
        return page(request, QueueForm(request.project, initial=as_initial(found)), stored, **here)
    editor = stored if begun else Editor.from_post(request.POST)
    if RESHAPES & {*request.POST}:
        return page(request, build_unvalidated_form(QueueForm, request), editor.apply_button(request.POST), **here)
    form = QueueForm(request.project, request.POST)
    schema, editor = (stored_schema, editor) if begun else parse_questions(editor)
    if not form.is_valid() or schema is None:
        return page(request, form, editor, status=422, **here)
    update_queue(found, form, request.user, schema)
    messages.success(request, f"“{form.cleaned_data['name']}” saved.")
    return redirect(found)


def update_queue(queue: Queue, form: QueueForm, user: User, schema: LabelSchema) -> None:
    """Change a queue as a valid form says; items are assigned again if the assignment changes."""
    what = {**form.get_queue_fields(), "schema": schema.model_dump(mode="json"), "pull": not form.chosen}
    dealt = (queue.reviewers, {*as_initial(queue)["people"]})
    change(queue, user, **what)
    if (what["reviewers"], {str(user.pk) for user in form.chosen}) != dealt:
        assign(queue, form.chosen)


def parse_questions(editor: Editor) -> tuple[LabelSchema | None, Editor]:
    """Return the questions, or None and the editor with the error."""
    try:
        return editor.schema(), editor
    except BadSchema as wrong:
        return None, replace(editor, fault=str(wrong))


def build_unvalidated_form(kind: type[QueueForm], request: ProjectRequest) -> QueueForm:
    """Return the submitted form before validation."""
    return kind(request.project, initial=as_sent(request.POST))


def as_sent(post: QueryDict) -> Mapping[str, Any]:
    return {name: post.getlist(name) if name in MANY else post[name] for name in post} | {"blind": "blind" in post}


def count_matches(form: NewQueue) -> dict[str, Any]:
    """Count what a search finds, and how many of those would be reviewed, if the form is valid."""
    form.is_valid()
    if {"query", "dataset", "how", "n", "by", "seed", "run"} & {*form.errors}:
        return {"fault": " ".join(form.errors.get("query", []))}
    return {"count": form.search().rows.count(), "drawn": len(form.sample_items())}


def page(request: ProjectRequest, form: QueueForm, editor: Editor, status: int = 200, **more: Any) -> HttpResponse:
    options = {"kinds": KINDS, "scopes": SCOPES, "most": MOST_QUESTIONS}
    return render(request, "review/queue_form.html", {"form": form, "editor": editor, **options, **more}, status=status)
