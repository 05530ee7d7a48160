"""Pages about the team for owners: rename it, or delete it once it is empty."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from .memberships import lock_organisation
from .models import Organisation, Project
from .permissions import Action, in_organisation


class Rename(forms.ModelForm):
    class Meta:
        model = Organisation
        fields = ["name"]
        help_texts = {"name": "The URL does not change, so links keep working."}


@in_organisation(Action.MANAGE)
@require_http_methods(["GET", "POST"])
def team_edit(request: Any) -> HttpResponse:
    """Handle `do`, which is rename or delete; to delete, the team's name is typed."""
    team, do = request.organisation, request.POST.get("do", "")
    called, form = team.name, Rename(request.POST if do == "rename" else None, instance=team)
    if do == "rename" and form.is_valid():
        form.save()
        messages.success(request, f"Team renamed to {team}.")
        return redirect(team)
    fault = ""
    if do == "delete":
        typed = request.POST.get("typed", "").strip()
        fault = in_the_way(team) if typed == called else f"To delete the team, type its exact name: {called}"
        if not fault and not (fault := delete(team)):
            messages.success(request, f"The team “{called}” is deleted.")
            return redirect("start")
    context = {"called": called, "form": form, "fault": fault, "in_the_way": in_the_way(team)}
    return render(request, "accounts/team_edit.html", context, status=422 if request.method == "POST" else 200)


def in_the_way(team: Organisation) -> str:
    """Return why the team can't be deleted yet, and what to do; "" if it can."""
    count = team.projects.count()
    gone = Project.everything.filter(organisation=team).count() - count
    if count:
        return f"It has {count} project{'s' * (count != 1)}: delete {'them' if count != 1 else 'it'} first."
    if gone:
        return f"{gone} deleted project{'s' * (gone != 1)} can still be restored; wait until the team's trash is empty."
    return ""


@transaction.atomic
def delete(team: Organisation) -> str:
    """Delete a team with its members, invitations and tokens. Return why that failed, or ""."""
    lock_organisation(team)
    if fault := in_the_way(team):
        return fault
    team.delete()
    return ""
