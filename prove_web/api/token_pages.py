"""Page of a team's API tokens: one's own, created, shown once and revoked; and for owners those of all members."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from prove_web.accounts.permissions import Action, in_organisation

from .models import ApiToken
from .token_forms import NewToken
from .tokens import TooMany, issue, revoke

ROWS = 50


@in_organisation(Action.VIEW)
@require_safe
def tokens(request: Any) -> HttpResponse:
    return page(request, NewToken(organisation=request.organisation, role=request.role))


@in_organisation(Action.VIEW)
@never_cache
@require_POST
def token_new(request: Any) -> HttpResponse:
    """Create a token and show it, only this once."""
    form = NewToken(request.POST, organisation=request.organisation, role=request.role)
    if not form.is_valid():
        return page(request, form, status=422)
    values = form.cleaned_data
    try:
        made, text = issue(
            request.user,
            request.organisation,
            values["name"],
            values["scopes"],
            values["project"],
            values["days"] or None,
        )
    except TooMany as error:
        form.add_error(None, str(error))
        return page(request, form, status=422)
    return page(request, NewToken(organisation=request.organisation, role=request.role), made, text)


@in_organisation(Action.VIEW)
@require_POST
def token_revoke(request: Any, api_token: int) -> HttpResponse:
    """Revoke one's own token, or as an owner any token of the team."""
    found = get_object_or_404(ApiToken, organisation=request.organisation, pk=api_token)
    if found.user_id != request.user.pk and not request.role.covers(Action.MANAGE):
        messages.error(request, "Revoking another member's token requires the Owner role.")
    else:
        revoke(found)
        messages.success(request, f"Token “{found}” revoked.")
    return redirect("api-tokens", request.organisation.slug)


def seen_by(request: Any) -> Any:
    """Return one's own tokens of this team; for an owner those of all members."""
    found = ApiToken.objects.filter(organisation=request.organisation)
    return found if request.role.covers(Action.MANAGE) else found.filter(user=request.user)


def page(request: Any, form: NewToken, made: ApiToken | None = None, text: str = "", status: int = 200) -> HttpResponse:
    """Render the page, with the text of a new token."""
    rows = seen_by(request).select_related("user", "project").order_by("-created_at", "-pk")
    context = {
        "form": form,
        "made": made,
        "text": text,
        "page": Paginator(rows, ROWS).get_page(request.GET.get("page")),
        "labels": {action.value: action.label for action in Action},
        "address": request.build_absolute_uri("/api/v1/"),
    }
    return render(request, "api/tokens.html", context, status=status)
