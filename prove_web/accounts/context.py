"""Template context of the frame around every page: navigation, notifications and permissions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import Count, Q
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from prove_web.supervisor.checks import LEAST_FREE, less_free

from .hooks import section_counts
from .models import Organisation, Project, User
from .roles import Action, Role
from .second_factor import due


@dataclass(frozen=True)
class Section:
    """An entry of the navigation: its page, and the names of the pages below it."""

    page: str
    title: str
    icon: str
    beneath: frozenset[str] = frozenset()


SWEEPS = ("sweeps", "sweep-new", "sweep")
COMPARED = ("run-compare", "run-behaviour", "run-beside", "paper")
EVALUATIONS = frozenset(
    {
        *("evaluation", "evaluation-new", "evaluation-item", "evaluation-compare", "evaluation-beside"),
        *("leaderboards", "leaderboard"),
    }
)
REVIEW = frozenset({"queue", "queue-new", "queue-edit", "review", "review-adjudicate", "agreement", "reward-annotator"})
DATASETS = frozenset(
    {
        *("dataset", "dataset-new", "trajectory", "trajectories", "trajectory-fix", "trajectory-edited"),
        *("version-new", "dataset-mix", "dataset-split", "dataset-changes", "import-new", "import-preview", "export"),
    }
)
ALERTS = frozenset({"alert", "alert-rules", "alert-rule", "alert-rule-new", "webhooks", "webhook"})
SESSIONS = ("session-compare", "session-branches", "session-trajectory")
SECTIONS = (
    Section("home", "Home", "home", frozenset({"job"})),
    Section("servers", "Servers", "server", frozenset({"server"})),
    Section("tools", "Tools", "tool", frozenset({"tool"})),
    Section("sessions", "Sessions", "terminal-2", frozenset({"session", "session-new", *SESSIONS})),
    Section("graph", "Graph", "share"),
    Section("environments", "Environments", "adjustments", frozenset({"server-versions", "third-party"})),
    Section("datasets", "Datasets", "database", DATASETS),
    Section("queues", "Review", "circle-check", REVIEW),
    Section(
        "runs", "Runs", "rocket", frozenset({"run", "run-new", "rollouts", "rollout", "what-if", *SWEEPS, *COMPARED})
    ),
    Section("evaluations", "Evaluations", "target", EVALUATIONS),
    Section("alerts", "Alerts", "alert-triangle", ALERTS),
    Section("job-queue", "Jobs", "hourglass", frozenset({"workers", "enrolment-new"})),
)

FIRST_VISITS = frozenset({"server", "dataset", "trajectory", "run", "rollouts", "rollout"})
MOST_VISITS = 300  # in a session


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Return `navigation` for the frame, with `unread` notifications, and `may`: the user's permissions by action."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"navigation": {}, "may": {}}
    role: Role | None = getattr(request, "role", None)  # set after the permission check, so strangers learn nothing
    page = (request.resolver_match.url_name if request.resolver_match else "") or ""
    if role and getattr(request, "project", None):
        remember(request, request.project, page)
    may = {action.value: role is not None and role.covers(action) for action in Action}
    return {"navigation": SimpleLazyObject(lambda: find_frame(request, user, role, page)), "may": may}


def find_frame(request: HttpRequest, user: User, role: Role | None, page: str) -> dict[str, Any]:
    """Return what the frame of a page displays. Its queries cost some milliseconds; a fragment needs none of them."""
    organisation: Organisation | None = getattr(request, "organisation", None) if role else None
    mine = (
        Project.objects.filter_visible_to(user)
        .select_related("organisation")
        .annotate(unread=unread_of(user), **{f"count_{name}": count() for name, count in section_counts.items()})
    )
    projects = list(mine.order_by("organisation__name", "name"))
    project = (getattr(request, "project", None) if role else None) or first_of(organisation, projects)
    page = "members" if page in ("member-add", "invitation-new") else page  # their forms are on that page
    counted = next((each for each in projects if project and each.pk == project.pk), None)
    return {
        "organisation": organisation,
        "project": project,
        "projects": projects,
        "role": role,
        "disk_low": bool(role) and less_free(settings.PROVE_DATA, LEAST_FREE),
        "second_factor_due": due(user, organisation) if role else None,
        "unread": sum(each.unread for each in projects),
        "page": page,
        "sections": [
            {
                "page": each.page,
                "title": each.title,
                "icon": each.icon,
                "active": page in {each.page, *each.beneath},
                "open": getattr(counted, f"count_{each.page}", 0),
            }
            for each in SECTIONS
            if project
        ],
    }


def unread_of(user: Any) -> Count:
    """Count a project's unread notifications of a user, in the same query as the projects."""
    return Count("notifications", filter=Q(notifications__user=user, notifications__read_at=None))


def remember(request: HttpRequest, project: Project, page: str) -> None:
    """Remember that the user has visited this page, for the first steps on the project's home."""
    seen, here = request.session.get("seen", []), visit(project, page)
    if page in FIRST_VISITS and here not in seen:
        request.session["seen"] = [*seen, here][-MOST_VISITS:]


def visit(project: Project, page: str) -> str:
    """Return a page of a project as the session stores it."""
    return f"{project.pk}/{page}"


def first_of(organisation: Organisation | None, projects: list[Project]) -> Project | None:
    """Return the project to which an organisation's own pages link back."""
    return next((each for each in projects if each.organisation_id == getattr(organisation, "pk", None)), None)
