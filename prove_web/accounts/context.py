"""Where the person is: what the frame around every page shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from .models import Organisation, Project
from .roles import Action, Role


@dataclass(frozen=True)
class Section:
    """One entry of the navigation: its page, and the names of the pages beneath it."""

    page: str
    title: str
    icon: str
    beneath: frozenset[str] = frozenset()


SWEEPS = ("sweeps", "sweep-new", "sweep")
SESSIONS = ("session-compare", "session-branches", "session-trajectory")
SECTIONS = (
    Section("home", "Home", "home", frozenset({"job"})),
    Section("servers", "Servers", "server", frozenset({"server"})),
    Section("tools", "Tools", "tool", frozenset({"tool"})),
    Section("sessions", "Sessions", "terminal-2", frozenset({"session", "session-new", *SESSIONS})),
    Section("graph", "Graph", "share"),
    Section("datasets", "Data sets", "database", frozenset({"dataset", "dataset-new", "trajectory"})),
    Section("runs", "Runs", "rocket", frozenset({"run", "run-new", "rollouts", "rollout", *SWEEPS})),
)

FIRST_VISITS = frozenset({"server", "dataset", "trajectory", "run", "rollouts", "rollout"})


def navigation(request: HttpRequest) -> dict[str, Any]:
    """`navigation` for the frame, and `may`: what the person's role here allows, by action."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"navigation": {}, "may": {}}
    role: Role | None = getattr(request, "role", None)  # set once the person was let in, so a stranger learns nothing
    organisation: Organisation | None = getattr(request, "organisation", None) if role else None
    projects = list(Project.objects.of(user).select_related("organisation").order_by("organisation__name", "name"))
    project = (getattr(request, "project", None) if role else None) or first_of(organisation, projects)
    page = (request.resolver_match.url_name if request.resolver_match else "") or ""
    remember(request, page)
    page = "members" if page == "member-add" else page  # whose form is on that page
    may = {action.value: role is not None and role.covers(action) for action in Action}
    shown = {
        "organisation": organisation,
        "project": project,
        "projects": projects,
        "role": role,
        "may": may,
        "page": page,
        "sections": [
            {"page": each.page, "title": each.title, "icon": each.icon, "active": page in {each.page, *each.beneath}}
            for each in SECTIONS
            if project
        ],
    }
    return {"navigation": shown, "may": may}


def remember(request: HttpRequest, page: str) -> None:
    """That the person has been here, for the first steps that home ticks off."""
    seen = request.session.get("seen", [])
    if page in FIRST_VISITS and page not in seen:
        request.session["seen"] = [*seen, page]


def first_of(organisation: Organisation | None, projects: list[Project]) -> Project | None:
    """The project that an organisation's own pages lead back to."""
    return next((each for each in projects if each.organisation_id == getattr(organisation, "pk", None)), None)
