"""Alert pages of a project: the list, the page of one alert, and its actions."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse, HttpResponseBadRequest
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.core.parse_int import parse_digits

from .exemplars import exemplars
from .forms import describe_condition, describe_metric
from .models import Alert, Rule
from .notifications import Bell, bell_of, set_bell
from .services import SNOOZED, NotDone, act, filter_alerts

PER_PAGE = 25


@in_project(Action.VIEW)
@require_safe
def alerts(request: ProjectRequest) -> HttpResponse:
    """Show the alerts in one state, open by default; `run` and `rule` narrow the list."""
    state = request.GET.get("state", "")
    state = state if state in Alert.State.values else Alert.State.OPEN
    named = {name: parse_digits(request.GET.get(name, "")) for name in ("run", "rule")}
    by = {name: number for name, number in named.items() if number is not None}
    mine = filter_alerts(request.project, **by)
    rows = mine.state(state).select_related(
        "rule", "run__project__organisation", "project__organisation", "acknowledged_by"
    )
    context = {
        "page": Paginator(rows, PER_PAGE).get_page(request.GET.get("page")),
        "state": state,
        "by": by,
        "states": [(value, label, mine.state(value).count()) for value, label in Alert.State.choices],
        "rules": Rule.objects.filter(project=request.project, removed_at=None).exists(),
        "bell": bell_of(request.user, request.project),
        "bells": Bell.choices,
    }
    return render(request, "alerts/alerts.html", context)


def one_alert(request: ProjectRequest, key: int) -> Alert:
    rows = Alert.objects.valid().select_related(
        "rule", "run__job", "run__project__organisation", "project__organisation", "acknowledged_by"
    )
    found: Alert = get_object_or_404(rows, project=request.project, pk=key)
    return found


@in_project(Action.VIEW)
@require_safe
def alert(request: ProjectRequest, alert: int) -> HttpResponse:
    """Show an alert with its condition, its meaning, exemplary rollouts and advice."""
    found = one_alert(request, alert)
    context = {
        "alert": found,
        "preset": found.rule.ready_made,
        "condition": describe_condition(found.rule),
        "about": describe_metric(found.rule),
        "exemplars": exemplars(found),
        "snoozes": SNOOZED,
    }
    return render(request, "alerts/alert.html", context)


@in_project(Action.ANNOTATE)
@require_POST
def alert_change(request: ProjectRequest, alert: int) -> HttpResponse:
    """Acknowledge, snooze or reopen an alert."""
    found = one_alert(request, alert)
    try:
        said = act(found, request.user, request.POST.get("do", ""), request.POST.get("hours", ""))
    except NotDone as why:
        return HttpResponseBadRequest(str(why))
    messages.success(request, f"“{found.rule}” {said}")
    return redirect(found)


@in_project(Action.VIEW)
@require_POST
def alert_bell(request: ProjectRequest) -> HttpResponse:
    """Set which alerts of the project the user is notified of."""
    wanted = request.POST.get("bell", "")
    if wanted not in Bell.values:
        return HttpResponseBadRequest(f"Set bell to one of: {', '.join(Bell.values)}.")
    set_bell(request.user, request.project, Bell(wanted))
    messages.success(request, f"Notifications set to: {Bell(wanted).label}.")
    return redirect("alerts", *request.project.path)
