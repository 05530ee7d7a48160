"""Pages of a project's alert rules: existing rules, presets to add, and custom rules."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse, HttpResponseBadRequest
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from prove_web.accounts.locks import lock_active_project
from prove_web.accounts.models import Project, User
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from training_worker.monitoring.alerts.presets import PRESETS, Preset

from .forms import RuleForm, count_alerts_by_rule, describe_condition, from_preset
from .models import Alert, Rule

REMOVED = 10  # recently removed rules that can be restored


@in_project(Action.VIEW)
@require_safe
def alert_rules(request: ProjectRequest) -> HttpResponse:
    """Show every rule with its number of open alerts, and the presets that the project has not added."""
    mine = Rule.objects.filter(project=request.project).select_related("made_by")
    rules = list(mine.filter(removed_at=None))
    standing = count_alerts_by_rule(Alert.objects.filter(project=request.project).state(Alert.State.OPEN))
    has = {rule.preset for rule in rules}
    groups: dict[str, list] = {}
    for preset in PRESETS.values():
        if preset.key not in has:
            groups.setdefault(preset.group, []).append(
                (preset, describe_condition(from_preset(request.project, preset)))
            )
    context = {
        "rules": [(rule, describe_condition(rule), standing.get(rule.pk, 0)) for rule in rules],
        "presets": list(groups.items()),
        "removed": mine.exclude(removed_at=None).order_by("-removed_at")[:REMOVED],
    }
    return render(request, "alerts/rules.html", context)


@in_project(Action.LAUNCH)
@require_POST
def alert_rules_add(request: ProjectRequest) -> HttpResponse:
    """Add presets; those that the project already has stay unchanged."""
    wanted = [PRESETS[key] for key in dict.fromkeys(request.POST.getlist("preset")) if key in PRESETS]
    if not wanted:
        messages.error(request, "No rules selected. Select the rules to add.")
        return redirect("alert-rules", *request.project.path)
    made = add_ready_made(request.project, request.user, wanted)
    messages.success(request, f"Rules added: {len(made)}. They apply to what runs report from now on.")
    return redirect("alert-rules", *request.project.path)


@transaction.atomic
def add_ready_made(project: Project, user: User, wanted: Iterable[Preset]) -> list[Rule]:
    """Create the rules that are new; the project lock prevents duplicates from concurrent requests."""
    lock_active_project(project)
    existing = set(Rule.objects.filter(project=project, removed_at=None).values_list("preset", flat=True))
    made = [from_preset(project, preset, user) for preset in wanted if preset.key not in existing]
    for rule in made:
        rule.save()
    return made


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD", "POST"])
def alert_rule_new(request: ProjectRequest) -> HttpResponse:
    """Create a custom rule."""
    form = RuleForm(request.project, request.POST if request.method == "POST" else None)
    if not form.is_bound or not form.is_valid():
        return render(request, "alerts/rule.html", {"form": form}, status=422 if form.is_bound else 200)
    form.instance.made_by = request.user
    made = form.save()
    messages.success(request, f"“{made}” created. It applies to what runs report from now on.")
    return redirect("alert-rules", *request.project.path)


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD", "POST"])
def alert_rule(request: ProjectRequest, rule: int) -> HttpResponse:
    """Change the scope and threshold of a rule."""
    found = one_rule(request, rule)
    if found.removed_at is not None:
        raise Http404
    form = RuleForm(request.project, request.POST if request.method == "POST" else None, found)
    if not form.is_bound or not form.is_valid():
        context = {
            "form": form,
            "rule": found,
            "preset": found.ready_made,
            "condition": describe_condition(one_rule(request, rule)),
        }
        return render(request, "alerts/rule.html", context, status=422 if form.is_bound else 200)
    form.save()
    messages.success(request, f"“{found}” saved. Active runs are evaluated again.")
    return redirect("alert-rules", *request.project.path)


@in_project(Action.LAUNCH)
@require_POST
def alert_rule_switch(request: ProjectRequest, rule: int) -> HttpResponse:
    """Enable, disable, remove (with its alerts) or restore a rule."""
    found = one_rule(request, rule)
    changes = {
        "on": ({"enabled": True}, "is enabled."),
        "off": ({"enabled": False}, "is disabled. Its alerts stay."),
        "remove": ({"removed_at": timezone.now()}, "and its alerts are removed. You can restore them below."),
        "restore": ({"removed_at": None}, "is restored."),
    }
    change = changes.get(request.POST.get("do", ""))
    if change is None:
        return HttpResponseBadRequest(f"Choose what to do: {', '.join(changes)}.")
    for name, value in change[0].items():
        setattr(found, name, value)
    found.save(update_fields=list(change[0]))
    messages.success(request, f"“{found}” {change[1]}")
    return redirect("alert-rules", *request.project.path)


def one_rule(request: ProjectRequest, key: int) -> Rule:
    found: Rule = get_object_or_404(Rule, project=request.project, pk=key)
    return found
