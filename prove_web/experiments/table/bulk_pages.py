"""Bulk actions of the runs table: marks for annotators, and actions that require the launch permission."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from prove_web.accounts.models import Project, User
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.core.parse_int import parse_digits

from .. import run_metadata
from ..models import Run
from ..run_metadata import InvalidMetadata
from .bulk import ACTS, MARKS, MAX_LISTED, Act, BulkResult, apply_action_to_runs, find_selected_runs, format_run_count
from .params import parse_params

UNDO = "runs_undo"  # session key of the one-time undo offer


@in_project(Action.ANNOTATE)
@require_POST
def runs_mark(request: ProjectRequest) -> HttpResponse:
    """Apply tag, untag, pin or unpin (`act`) to `runs` (comma-separated numbers) or to `all` of a search; `tag`."""
    return apply_bulk_action(request, MARKS)


@in_project(Action.LAUNCH)
@require_POST
def runs_act(request: ProjectRequest) -> HttpResponse:
    """Apply archive, unarchive, base (with its number), unbase, stop-after, stop-now, resume, delete or undelete."""
    return apply_bulk_action(request, ACTS)


def apply_bulk_action(request: ProjectRequest, acts: Mapping[str, Act]) -> HttpResponse:
    """Apply an action and return to the table, which shows the result."""
    data, view = request.POST, parse_params(request.POST)
    back = redirect(f"{reverse('runs', args=request.project.path)}?{view.address}".removesuffix("?"))
    act = data.get("act", "")
    if act not in acts:
        messages.error(request, "Choose an action for these runs. Nothing was changed.")
        return back
    try:
        given = parse_action_value(request.project, request.user, data)
        runs, missing = find_selected_runs(request.project, data, view)
        done = apply_action_to_runs(acts[act], runs, given, missing)
    except InvalidMetadata as why:
        messages.error(request, str(why))
        return back
    add_result_messages(request, done, act, given)
    return back


def parse_action_value(project: Project, user: User, data: Mapping[str, Any]) -> str | Run | User:
    """Return the additional argument of an action. Raises InvalidMetadata."""
    act = data.get("act", "")
    if act == "delete":
        return user
    if act in ("tag", "untag"):
        tags = run_metadata.normalise_tags(run_metadata.read_tags(data.get("tag", "")))
        if not tags:
            raise InvalidMetadata("A tag needs at least one character. Nothing was changed.")
        return ",".join(tags)
    if act == "base":
        found = run_metadata.in_sight(project).filter(number=parse_digits(data.get("base", ""))).first()
        if found is None:
            raise InvalidMetadata("Enter the number of the baseline run. Nothing was changed.")
        return found
    return ""


def add_result_messages(request: ProjectRequest, done: BulkResult, act: str, given: str | Run | User) -> None:
    about = f" “{given}”" if act in ("tag", "untag") else f" (run {given.number})" if isinstance(given, Run) else ""
    if done.changed and done.undo:
        runs = ",".join(map(str, done.changed))
        tags = given if isinstance(given, str) else ""
        said = f"{format_run_count(len(done.changed))} {done.said}{about}."
        request.session[UNDO] = {"act": done.undo, "runs": runs, "tag": tags, "said": said, "of": act}
    elif done.changed:
        messages.success(request, f"{format_run_count(len(done.changed))} {done.said}{about}.")
    if done.refused:
        more = f" And {len(done.refused) - MAX_LISTED} more." if len(done.refused) > MAX_LISTED else ""
        count = format_run_count(len(done.refused))
        messages.warning(request, f"Not applied to {count}. {'; '.join(done.refused[:MAX_LISTED])}.{more}")
    if not done.changed and not done.refused:
        messages.info(request, f"All of these were already {done.said}{about}.")
