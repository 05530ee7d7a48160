"""A user's notifications: the bell with its count, the list, and the way to their subjects."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST

from prove_web.accounts.permissions import signed_in

from .notifications import list_notifications, mark_read

PER_PAGE = 50


@signed_in
@require_GET
def notifications(request: Any) -> HttpResponse:
    """List all notifications, or with `?show=unread` the unread ones."""
    rows = list_notifications(request.user)
    unread = request.GET.get("show") == "unread"
    page = Paginator(rows.filter(read_at=None) if unread else rows, PER_PAGE).get_page(request.GET.get("page"))
    context = {"page": page, "only_unread": unread, "unread": rows.filter(read_at=None).count()}
    return render(request, "review/notifications.html", context)


@signed_in
@require_GET
def bell(request: Any) -> HttpResponse:
    """Return the current bell."""
    return render(
        request, "review/bell.html", {"unread": list_notifications(request.user).filter(read_at=None).count()}
    )


@signed_in
@require_POST
def read(request: Any) -> HttpResponse:
    """Mark all as read; or one, and go to its subject, or with `stay` back to the list."""
    rows = list_notifications(request.user)
    named = request.POST.get("notification")
    if named is None:
        mark_read(rows)
        return redirect("notifications")
    found = get_object_or_404(rows, pk=named if named.isdecimal() and len(named) < 19 else 0)
    mark_read(rows.filter(pk=found.pk))
    stays = request.POST.get("stay") or not url_has_allowed_host_and_scheme(found.url, None)
    return redirect("notifications" if stays else found.url)
