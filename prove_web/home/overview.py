"""Project home page: first steps, counts, and the newest run's reward."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from mcp_servers.catalogue import SERVERS, TOOLS
from prove_web.accounts.context import visit
from prove_web.accounts.models import Project
from prove_web.experiments.models import HeldOut, Point, Run
from prove_web.live.models import JobEvent

CURVE_POINTS = 600


@dataclass(frozen=True)
class Step:
    """One first step; `done` is determined automatically."""

    title: str
    text: str
    url: str
    done: bool


def first_steps(project: Project, seen: Collection[str]) -> list[Step]:
    """Return the steps in order until all are done.

    Steps that leave a trace in the project count for all users; visits to a page count for the user who has `seen` it.
    A page visit counts only in this project, and only if there is something of its kind to look at.
    """
    path = project.path

    def has_visited(*pages: str) -> bool:
        return any(visit(project, page) in seen for page in pages)

    run, dataset = project.runs.first(), project.datasets.first()
    watch = reverse("run", args=[*path, run.number]) if run else reverse("runs", args=path)
    look = reverse("dataset", args=[*path, dataset.number]) if dataset else reverse("datasets", args=path)
    sessions, members = reverse("sessions", args=path), reverse("members", args=path[:1])
    steps = [
        Step(
            "Explore a server",
            "Its tools, their inputs and outputs.",
            reverse("servers", args=path),
            has_visited("server"),
        ),
        Step("Open a session", "Call tools and watch the state change.", sessions, project.sessions.exists()),
        Step(
            "Browse the data",
            "Conversations with their ground-truth calls.",
            look,
            dataset is not None and has_visited("dataset", "trajectory"),
        ),
        Step(
            "Watch the run",
            "A small model trains live.",
            watch,
            run is not None and has_visited("run", "rollouts", "rollout"),
        ),
        Step("Invite a colleague", "Choose a role for them.", members, project.organisation.memberships.count() > 1),
    ]
    return [] if all(step.done for step in steps) else steps


def counts(project: Project) -> list[dict[str, Any]]:
    """Return the project's counts, each with its page."""
    path = project.path
    found = (
        ("server", "Servers", len(SERVERS), "servers"),
        ("tool", "Tools", len(TOOLS), "tools"),
        ("terminal-2", "Sessions", project.sessions.count(), "sessions"),
        ("database", "Datasets", project.datasets.count(), "datasets"),
        ("rocket", "Runs", project.runs.count(), "runs"),
    )
    return [
        {"icon": icon, "title": title, "count": n, "url": reverse(page, args=path)} for icon, title, n, page in found
    ]


def newest_curve(project: Project) -> dict[str, Any] | None:
    """Return the newest run with metrics, and its reward chart for charts.js; None if there is none."""
    run = Run.objects.filter(project=project, points__isnull=False).select_related("job").order_by("-number").first()
    if run is None:
        return None
    cursor = JobEvent.objects.filter(job=run.job).order_by("-id").values_list("id", flat=True).first() or 0
    training = points(Point, run)
    chart = {
        "title": "Reward",
        "job": str(run.job_id),
        "after": cursor,
        "series": [
            {"name": "training batches", "points": training, "event": "step", "metric": "reward"},
            {"name": "held-out worlds", "points": points(HeldOut, run), "event": "held_out", "metric": "reward"},
        ],
    }
    return {"run": run, "chart": chart, "steps": training[-1][0] if training else 0}


def points(table: type[Point] | type[HeldOut], run: Run) -> list[tuple[int, float]]:
    """Return the newest points of a series in step order."""
    rows = table.objects.filter(run=run).order_by("-step").values_list("step", "metrics__reward")[:CURVE_POINTS]
    return [(step, reward) for step, reward in reversed(list(rows)) if reward is not None]
