"""The runs page and its parts: table, column picker, completion, saved views and exports."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.paginator import Page, Paginator
from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from prove_web.accounts import saved_views
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.core.parse_int import parse_digits
from prove_web.query_language.completion import complete

from .. import run_metadata
from . import columns, export, fields, search
from .bulk_pages import UNDO
from .columns import FORMS
from .external_columns import parse_external_key
from .params import ARCHIVED, PAGE, TableParams, load_saved_columns, parse_params, remember
from .rows import annotate_columns, build_page_rows, build_rows, filter_runs, order_runs
from .run_groups import TITLES, Group, choices, groups, members
from .settings import SETTINGS

ROWS = 25


@in_project(Action.VIEW)
@require_safe
def runs(request: ProjectRequest) -> HttpResponse:
    """Show the runs page; `?part=table` returns the table, `?part=columns` the column picker."""
    view, part = parse_params(request.GET), request.GET.get("part")
    if part == "columns":
        return render(request, "experiments/table/picker.html", picker(request, view))
    if (
        "columns" not in request.GET
        and not request.htmx
        and (mine := load_saved_columns(request.user, request.project))
    ):
        query = request.GET.copy()
        query["columns"] = mine
        return redirect(f"{request.path}?{query.urlencode()}")
    context = table(request, view)
    if part == "table":
        return render(request, "experiments/table/table.html", context)
    context |= {
        "views": saved_views.views_of(request.project, PAGE),
        "known_tags": run_metadata.known_tags(request.project),
        "archived": ARCHIVED,
        "groupings": choices(request.project, view.group),
        "undo": None if request.htmx else request.session.pop(UNDO, None),
    }
    return render(request, "experiments/table/page.html", context)


def table(request: ProjectRequest, view: TableParams) -> dict[str, Any]:
    rows, condition = filter_runs(request.project, view)
    context: dict[str, Any] = {
        "params": view,
        "address": view.address,
        "fault": condition.fault,
        "marked": condition.fault and condition.fault.split_query(view.query),
        "first": head(columns.KNOWN["number"], view.sort),
        "heads": [head(one, view.sort) for one in view.columns],
        "count": rows.count(),
    }
    if view.group:
        page: Page = groups(rows, view.group, view.columns, view.sort, view.page)
        unfold(page, rows, view)
        return {**context, "page": page, "groups": page.object_list, "by": title_of(view.group)}
    page = Paginator(order_runs(rows, view.sort), ROWS).get_page(view.page)
    page.object_list = list(annotate_columns(page.object_list, view.columns))
    return {**context, "page": page, "rows": build_rows(page.object_list, view.columns)}


def unfold(page: Page, rows: Any, view: TableParams) -> None:
    """Load the first runs of the open groups."""
    each: Group
    for each in page.object_list:
        if each.key in view.open:
            each.open = True
            each.rows = build_page_rows(
                order_runs(members(rows, view.group, each.value), view.sort)[:ROWS], view.columns
            )


def title_of(group: str) -> str:
    one = parse_external_key(group) or SETTINGS.get(group)
    return one.title if one else TITLES[group]


def head(one: columns.Column, sort: str) -> dict[str, Any]:
    """Return a column heading: current sort direction, and the sort key of a click (newest or largest first)."""
    now = {one.key: "ascending", f"-{one.key}": "descending"}.get(sort, "")
    return {"column": one, "now": now, "next": one.key if now == "descending" else f"-{one.key}"}


def picker(request: ProjectRequest, view: TableParams) -> dict[str, Any]:
    """Return the context of the column picker: current and available columns."""
    return {
        "params": view,
        "chosen": view.columns,
        "groups": columns.list_column_groups(request.project),
        "forms": FORMS,
        "own": bool(load_saved_columns(request.user, request.project)),
    }


@in_project(Action.VIEW)
@require_POST
def runs_columns(request: ProjectRequest) -> HttpResponse:
    """Save the columns of the table for this user; `usual` restores the default columns."""
    view = parse_params(request.POST)
    if "usual" in request.POST:
        remember(request.user, request.project, [])
        view = parse_params({**view.fields, "columns": ""})
    elif view.own:
        remember(request.user, request.project, view.columns)
    return redirect(f"{reverse('runs', args=request.project.path)}?{view.address}".removesuffix("?"))


@in_project(Action.VIEW)
@require_safe
def runs_completion(request: ProjectRequest) -> HttpResponse:
    """Return completions at a position in a query as JSON."""
    query, at = search.parse_search(request.GET)[:1_100], request.GET.get("at", "")
    place = len(query) if (number := parse_digits(at)) is None else number
    offered = fields.list_fields(request.project)
    return JsonResponse(asdict(complete(request.project, query, place, offered, fields.values)))


@in_project(Action.VIEW)
@require_safe
def runs_export(request: ProjectRequest) -> HttpResponse | StreamingHttpResponse:
    """Export all matching rows with the current columns: `?format=csv` or `json`."""
    view, kind = parse_params(request.GET), request.GET.get("format", "csv")
    rows, condition = filter_runs(request.project, view)
    if kind not in export.FORMATS or condition.fault:
        why = condition.fault.message if condition.fault else f"Unknown format “{kind[:20]}”. Use csv or json."
        return HttpResponse(why, content_type="text/plain; charset=utf-8", status=400)
    numbers = list(order_runs(rows, view.sort).values_list("pk", flat=True))
    lines = export.iter_export_rows(numbers, view.columns)
    made = export.as_csv(lines, view.columns) if kind == "csv" else export.as_json(lines)
    headers = {"Content-Disposition": f'attachment; filename="runs-{request.project.slug}.{kind}"'}
    pieces = (piece.encode() for piece in made)
    return StreamingHttpResponse(pieces, content_type=export.FORMATS[kind], headers=headers)


@in_project(Action.ANNOTATE)
@require_POST
def run_views(request: ProjectRequest) -> HttpResponse:
    """Save the current table with its columns as a named view."""
    query = parse_params(request.POST).address
    saved_views.save_submitted_view(request, PAGE, query)
    return redirect(f"{reverse('runs', args=request.project.path)}?{query}".removesuffix("?"))


@in_project(Action.ANNOTATE)
@require_POST
def run_view(request: ProjectRequest, saved_view: int) -> HttpResponse:
    """Rename or delete a view."""
    view = saved_views.change(request, PAGE, saved_view)
    return redirect(f"{reverse('runs', args=request.project.path)}?{view.query}".removesuffix("?"))
