"""Pages on which a team creates, lists and withdraws share links."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from prove_web.accounts.permissions import Action, ProjectRequest, in_project

from . import links
from .links import DAYS, USUAL, withdraw
from .models import Share
from .share_scope import SharedPage, resolve_page

ROWS = 25
LONGEST = 4_000  # characters of a URL
UNPROCESSABLE = 422


@in_project(Action.LAUNCH)
@require_GET
def shares(request: ProjectRequest) -> HttpResponse:
    """List one's own links, or for owners all links, newest first."""
    page = Paginator(visible(request).select_related("made_by", "project__organisation"), ROWS)
    context = {"page": page.get_page(request.GET.get("page")), "everyone": request.role.covers(Action.MANAGE)}
    return render(request, "sharing/shares.html", context)


def visible(request: ProjectRequest) -> Any:
    every = Share.objects.filter(project=request.project)
    return every if request.role.covers(Action.MANAGE) else every.filter(made_by=request.user)


@in_project(Action.LAUNCH)
@never_cache
@require_http_methods(["GET", "POST"])
def share_new(request: ProjectRequest) -> HttpResponse:
    """Create a link; `?of=` is the URL of the page to share. The response shows the link, only this once."""
    url = request.POST.get("of") or request.GET.get("of", "")
    wanted = page_at(request, url)
    if wanted is None:
        return render(request, "sharing/share_new.html", {"of": ""}, status=UNPROCESSABLE if url else 200)
    context: dict[str, Any] = {"of": url, "shared": wanted, "days": DAYS, "chosen": USUAL}
    if request.method == "POST":
        days = request.POST.get("days", "")
        try:
            made, secret = links.make(
                request.project, request.user, wanted, int(days[:4]) if days.isascii() and days.isdecimal() else 0
            )
        except links.ShareLinkError as why:
            context["fault"] = str(why)
        else:
            context |= {"made": made, "address": address_of(request, secret)}
    return render(request, "sharing/share_new.html", context, status=UNPROCESSABLE if "fault" in context else 200)


def address_of(request: Any, secret: str) -> str:
    """Return the whole URL for recipients."""
    address: str = request.build_absolute_uri(reverse("shared", args=[secret]))
    return address


def page_at(request: ProjectRequest, url: str) -> SharedPage | None:
    """Return the page of this project at a URL, if it exists and can be shared."""
    try:
        parts, team = urlsplit(url[:LONGEST]), request.project.get_absolute_url()
    except ValueError:  # for brackets in an invalid URL
        return None
    if parts.scheme or parts.netloc or not parts.path.startswith(team):
        return None
    found = resolve_page(request.project, parts.path.removeprefix(team), parts.query)
    if found is None or len(found.path) > 300:
        return None
    inside = {name: value for name, value in found.match.kwargs.items() if name not in ("organisation", "project")}
    request.GET, previous = QueryDict(parts.query), request.GET
    request.method, method = "GET", request.method
    try:
        answered = found.match.func.__wrapped__(request, **inside)
    except Http404:
        return None
    finally:
        request.GET, request.method = previous, method
    return found if answered.status_code == 200 else None


@in_project(Action.LAUNCH)
@require_POST
def share_withdraw(request: ProjectRequest, share: int) -> HttpResponse:
    found = get_object_or_404(visible(request), pk=share)
    withdraw(found)
    messages.success(request, f"The link to “{found}” is withdrawn and no longer works.")
    return redirect("shares", *request.project.path)
