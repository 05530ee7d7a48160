"""Lists as people narrowed them, kept under names for the team: one way for every page that has such views."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404

from .models import Project, SavedView

LONGEST = 80


def views_of(project: Project, page: str) -> QuerySet[SavedView]:
    return SavedView.objects.filter(project=project, page=page).select_related("made_by")


def keep(request: Any, page: str, query: str) -> None:
    """Keep an address under the name that was given; one that is there under it is replaced."""
    name = name_in(request)
    if not name or len(name) > LONGEST:
        messages.error(request, f"A view needs a name of at most {LONGEST} characters. Nothing was kept.")
        return
    kept = {"query": query, "made_by": request.user}
    SavedView.objects.update_or_create(project=request.project, page=page, name=name, defaults=kept)
    messages.success(request, f"Kept as “{name}” for the team.")


def change(request: Any, page: str, view: int) -> SavedView:
    """Rename a view, or remove it. Raises Http404."""
    kept: SavedView = get_object_or_404(SavedView, pk=view, project=request.project, page=page)
    name = name_in(request)
    others = SavedView.objects.filter(project=request.project, page=page, name=name).exclude(pk=kept.pk)
    if "remove" in request.POST:
        kept.delete()
        messages.success(request, f"“{kept.name}” is no longer among the team's views.")
    elif not name or len(name) > LONGEST or others.exists():
        messages.error(
            request, f"A view needs a name of its own of at most {LONGEST} characters. It keeps the one it has."
        )
    else:
        kept.name = name
        kept.save(update_fields=["name"])
    return kept


def name_in(request: Any) -> str:
    return str(request.POST.get("name", "")).replace("\0", "").strip()
