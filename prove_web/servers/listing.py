"""The list of live sessions: searched, filtered, in any order; only what a page shows is counted."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, TextField
from django.db.models.functions import Cast, Coalesce
from django.http import HttpRequest

from prove_web.accounts.models import Project

from .models import LiveSession, SessionCall, Source
from .views.parts import typed

ORDERS = {
    "title": ("title", "pk"),
    "seed": ("seed", "pk"),
    "calls": ("made", "pk"),
    "owner": ("created_by__username", "pk"),
    "source": ("source", "pk"),
    "age": ("created_at", "pk"),
}
NEWEST = "-age"


def counted(rows: QuerySet[LiveSession]) -> QuerySet[LiveSession]:
    """With `made`, the number of calls, which costs something only for the rows that are read."""
    calls = SessionCall.objects.filter(session=OuterRef("pk")).order_by().values("session")
    made: QuerySet[LiveSession] = rows.annotate(
        made=Coalesce(Subquery(calls.annotate(made=Count("pk")).values("made")), 0)
    )
    return made


def listed(request: HttpRequest, project: Project) -> tuple[QuerySet[LiveSession], dict[str, Any]]:
    """The project's sessions as the address asks for them, and what it asks for."""
    rows = LiveSession.objects.filter(project=project).select_related("created_by", "project__organisation")
    text, source, order = typed(request, "q"), typed(request, "source"), typed(request, "sort")
    if text:
        rows = rows.alias(of=Cast("servers", TextField()))
    for word in text.split():
        found = Q(title__icontains=word) | Q(of__icontains=word) | Q(created_by__username__icontains=word)
        rows = rows.filter(found | Q(seed=int(word)) if word.isdecimal() and len(word) < 16 else found)
    if source in Source.values:
        rows = rows.filter(source=source)
    order = order if order.removeprefix("-") in ORDERS else NEWEST
    sign = "-" if order.startswith("-") else ""
    rows = counted(rows).order_by(*(sign + name for name in ORDERS[order.removeprefix("-")]))
    asked = {"text": text, "source": source, "sort": order, "sources": Source.choices}
    return rows, asked | {"columns": columns(order)}


def columns(order: str) -> list[dict[str, str]]:
    """The heads of the list: what a click on each sorts by next, and how it is sorted now."""
    titles = {
        "title": "Session",
        "": "Servers",
        "seed": "Seed",
        "calls": "Calls",
        "source": "Source",
        "owner": "Owner",
        "age": "Age",
    }
    return [{"title": title, "key": key, **sorting(key, order)} for key, title in titles.items()]


def sorting(key: str, order: str) -> dict[str, str]:
    """`next` is what sorts by a column, the other way round when it is sorted so; `now` is for `aria-sort`."""
    now = {key: "ascending", f"-{key}": "descending"}.get(order, "") if key else ""
    return {"next": f"-{key}" if now == "ascending" else key, "now": now}
