"""Permissions: the single check for pages, calls and sockets, and the rule of each page.

Users outside an organisation get 404, so that names can't be guessed; a member whose role is too low gets 403.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from .models import Membership, Organisation, Project, User
from .roles import ACTIVITIES, LEAST, Action, Role
from .second_factor import SecondFactorNeeded, needs_second_factor

__all__ = [
    "Action",
    "ProjectRequest",
    "Role",
    "allow_anyone",
    "has_permission",
    "in_organisation",
    "in_project",
    "role_in",
    "signed_in",
]


class ProjectRequest(HttpRequest):
    """Request to a page inside a project; `organisation` is also set for pages of an organisation."""

    project: Project
    organisation: Organisation
    role: Role
    user: User


def role_in(user: Any, organisation: Organisation) -> Role | None:
    """Return the user's role, or None for a user outside the organisation."""
    if not user.is_authenticated:
        return None
    found = Membership.objects.filter(user_id=user.pk, organisation=organisation).values_list("role", flat=True).first()
    return Role(found) if found else None


def has_permission(user: Any, action: Action, subject: Organisation | Project) -> bool:
    """Return whether the user may do this in the organisation, or in a project of it that is not deleted."""
    if isinstance(subject, Project) and subject.deleted_at is not None:
        return False
    organisation = subject.organisation if isinstance(subject, Project) else subject
    role = role_in(user, organisation)
    return role is not None and role.covers(action)


class View(Protocol):
    def __call__(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponse: ...


def set_rule(view: View, rule: str) -> View:
    view.rule = rule  # read by the test of the permission matrix
    return view


def allow_anyone(view: View) -> View:
    """Mark a page as public."""
    return set_rule(login_not_required(view), "anyone")


def signed_in(view: View) -> View:
    """Mark a page as one for every signed-in user, about only that user."""
    return set_rule(view, "signed in")


def in_project(action: Action) -> Callable[[View], View]:
    """Guard a page of one project: the view gets `request.project` in place of the two names in its URL."""

    def decorate(view: View) -> View:
        @wraps(view)
        def call_in_project(request: Any, organisation: str, project: str, *args: Any, **kwargs: Any) -> HttpResponse:
            found = get_object_or_404(
                Project.objects.select_related("organisation"), slug=project, organisation__slug=organisation
            )
            request.project = found
            admit(request, action, found.organisation)
            return view(request, *args, **kwargs)

        return set_rule(call_in_project, f"project: {action.value}")

    return decorate


def in_organisation(action: Action) -> Callable[[View], View]:
    """Guard a page of one organisation: the view gets `request.organisation` in place of its name."""

    def decorate(view: View) -> View:
        @wraps(view)
        def call_in_organisation(request: Any, organisation: str, *args: Any, **kwargs: Any) -> HttpResponse:
            admit(request, action, get_object_or_404(Organisation, slug=organisation))
            return view(request, *args, **kwargs)

        return set_rule(call_in_organisation, f"organisation: {action.value}")

    return decorate


def admit(request: Any, action: Action, organisation: Organisation) -> None:
    role = role_in(request.user, organisation)
    if role is None:
        raise Http404
    if needs_second_factor(request.user, organisation):
        raise SecondFactorNeeded(organisation)
    request.organisation, request.role = organisation, role
    if not role.covers(action):
        least = LEAST[action].label
        raise PermissionDenied(f"{ACTIVITIES[action]} requires the {least} role. Your role is {role.label}.")
