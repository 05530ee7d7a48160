"""Saved views: filtered lists under names for the team, in the same way for every page with such views."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404

from .models import Project, SavedView, User

LONGEST = 80


def views_of(project: Project, page: str) -> QuerySet[SavedView]:
    return SavedView.objects.filter(project=project, page=page).select_related("made_by")


class SavedViewError(ValueError):
    """Error of a view that can't be saved; the message says why."""


def store(project: Project, user: User, page: str, name: str, query: str) -> SavedView:
    """Save a query string under a name, replacing a view with that name. Raises SavedViewError."""
    if not name or len(name) > LONGEST:
        raise SavedViewError(f"A view needs a name of at most {LONGEST} characters. Nothing was saved.")
    values = {"query": query, "made_by": user}
    return SavedView.objects.update_or_create(project=project, page=page, name=name, defaults=values)[0]


def rename(view: SavedView, name: str) -> None:
    """Rename a view. Raises SavedViewError."""
    others = SavedView.objects.filter(project=view.project_id, page=view.page, name=name).exclude(pk=view.pk)
    if not name or len(name) > LONGEST or others.exists():
        raise SavedViewError(f"A view needs a unique name of at most {LONGEST} characters. Its name was not changed.")
    view.name = name
    view.save(update_fields=["name"])


def save_submitted_view(request: Any, page: str, query: str) -> None:
    """Save a query string under the submitted name."""
    try:
        made = store(request.project, request.user, page, name_in(request), query)
    except SavedViewError as why:
        messages.error(request, str(why))
    else:
        messages.success(request, f"Saved as “{made}” for the team.")


def change(request: Any, page: str, view: int) -> SavedView:
    """Rename a view, or delete it. Raises Http404."""
    saved: SavedView = get_object_or_404(SavedView, pk=view, project=request.project, page=page)
    if "remove" in request.POST:
        saved.delete()
        messages.success(request, f"View “{saved.name}” removed.")
        return saved
    try:
        rename(saved, name_in(request))
    except SavedViewError as why:
        messages.error(request, str(why))
    return saved


def name_in(request: Any) -> str:
    return str(request.POST.get("name", "")).replace("\0", "").strip()
