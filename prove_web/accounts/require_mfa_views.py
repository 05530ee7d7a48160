"""Requirement of a second factor for all members of a team: immediately, after some days, or not."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from . import second_factor
from .hooks import member_notice
from .models import Organisation
from .permissions import Action, in_organisation

DAYS = {"0": "immediately", "7": "in 7 days", "30": "in 30 days"}
OFF = "off"


@in_organisation(Action.MANAGE)
@require_POST
def second_factor_require(request: Any) -> HttpResponse:
    team, wanted = request.organisation, request.POST.get("from", "")
    if wanted == OFF:
        set_second_factor_requirement(team, None)
        messages.success(request, "A second factor is no longer required.")
    elif wanted not in DAYS:
        messages.error(request, f"Choose one of: {', '.join(DAYS.values())}. Nothing was changed.")
    elif not second_factor.get_second_factors(request.user).exists():
        messages.error(
            request, "Set up a second factor yourself first; otherwise you would lose access to your own team."
        )
    else:
        without = set_second_factor_requirement(team, int(wanted))
        notified = f" {without} member{'s' * (without != 1)} without one {'were' if without != 1 else 'was'} notified."
        messages.success(request, f"A second factor is required {DAYS[wanted]}.{notified if without else ''}")
    return redirect(f"{team.get_absolute_url()}#second-factor")


def set_second_factor_requirement(organisation: Organisation, days: int | None) -> int:
    """Require a second factor after these days, or not. Return how many members without one were notified."""
    organisation.second_factor_from = None if days is None else timezone.now() + timedelta(days=days)
    organisation.save(update_fields=["second_factor_from"])
    project = organisation.projects.order_by("-pk").first()
    rows = organisation.memberships.filter(~second_factor.exists("user"))
    without = [] if days is None else list(rows.values_list("user", flat=True))
    if project and without:
        moment = f"{organisation.second_factor_from:%-d %B}" if days else "now"
        text = f"{organisation} requires a second factor from {moment}, and you have none. Set one up here."
        url = reverse("account")
        member_notice.send(sender=Organisation, users=without, project=project, text=text, url=url)
    return len(without)
