"""List of live sessions: searched, filtered and sorted; calls are counted only for the shown page."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, TextField
from django.db.models.functions import Cast, Coalesce
from django.http import HttpRequest

from prove_web.accounts.models import Project

from .models import LiveSession, SessionCall, Source
from .views.parts import read_search_param

ORDERS = {
    "title": ("title", "pk"),
    "seed": ("seed", "pk"),
    "calls": ("made", "pk"),
    "owner": ("created_by__username", "pk"),
    "source": ("source", "pk"),
    "age": ("created_at", "pk"),
}
NEWEST = "-age"


def annotate_call_counts(rows: QuerySet[LiveSession]) -> QuerySet[LiveSession]:
    """Annotate the number of calls as `made`, which costs something only for the rows that are read."""
    calls = SessionCall.objects.filter(session=OuterRef("pk")).order_by().values("session")
    made: QuerySet[LiveSession] = rows.annotate(
        made=Coalesce(Subquery(calls.annotate(made=Count("pk")).values("made")), 0)
    )
    return made


def search_sessions(request: HttpRequest, project: Project) -> tuple[QuerySet[LiveSession], dict[str, Any]]:
    """Return the project's sessions for the URL's parameters, and these parameters."""
    rows = LiveSession.objects.filter(project=project).select_related("created_by", "project__organisation")
    text, source, order = (
        read_search_param(request, "q"),
        read_search_param(request, "source"),
        read_search_param(request, "sort"),
    )
    if text:
        rows = rows.alias(of=Cast("servers", TextField()))
    for word in text.split():
        found = Q(title__icontains=word) | Q(of__icontains=word) | Q(created_by__username__icontains=word)
        rows = rows.filter(found | Q(seed=int(word)) if word.isdecimal() and len(word) < 16 else found)
    if source in Source.values:
        rows = rows.filter(source=source)
    order = order if order.removeprefix("-") in ORDERS else NEWEST
    sign = "-" if order.startswith("-") else ""
    rows = annotate_call_counts(rows).order_by(*(sign + name for name in ORDERS[order.removeprefix("-")]))
    params = {"text": text, "source": source, "sort": order, "sources": Source.choices}
    return rows, params | {"columns": columns(order)}


def columns(order: str) -> list[dict[str, str]]:
    """Return the column heads of the list: the next sort order of each, and the current one."""
    titles = {
        "title": "Session",
        "": "Servers",
        "seed": "Seed",
        "calls": "Calls",
        "source": "Source",
        "owner": "Owner",
        "age": "Age",
    }
    return [{"title": title, "key": key, **build_sort_state(key, order)} for key, title in titles.items()]


def build_sort_state(key: str, order: str) -> dict[str, str]:
    """Return `next`, the parameter that sorts by a column or reverses its order, and `now` for `aria-sort`."""
    now = {key: "ascending", f"-{key}": "descending"}.get(order, "") if key else ""
    return {"next": f"-{key}" if now == "ascending" else key, "now": now}
