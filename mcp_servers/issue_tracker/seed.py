"""The tracker as a session finds it: projects with people, sprints, versions, and issues in all states."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from ..kit import Draw, fresh
from ..people import EmailAddress, beginning, cast
from .history import add_comments, add_links, add_work
from .names import CHORES, FAULTS, GOALS, PARTS, PROJECTS, STEPS, WISHES
from .projects import Plan, add_project
from .state import (
    LABELS,
    Issue,
    IssueStatus,
    IssueType,
    Priority,
    Project,
    Resolution,
    SoftwareVersionId,
    SprintId,
    Tracker,
)
from .workflow import SIZED, WORKFLOWS

POINTS = (1, 2, 3, 5, 8)
PRIORITIES: tuple[Priority, ...] = ("low", "medium", "medium", "high", "urgent")


class Size(NamedTuple):
    """How many rows a world has; `issues` and `closed` sprints are those of each project."""

    people: int
    projects: int
    members: int
    issues: int
    closed: int
    linked: int
    comments: int
    logs: int


SIZES = {
    "small": Size(people=9, projects=2, members=5, issues=10, closed=1, linked=5, comments=6, logs=6),
    "default": Size(people=26, projects=5, members=9, issues=44, closed=2, linked=50, comments=90, logs=90),
    "large": Size(people=120, projects=10, members=24, issues=240, closed=8, linked=600, comments=1200, logs=1600),
}


def seed(seed: int, size: str) -> Tracker:
    """The tracker of this seed; sizes are small, default and large."""
    tracker, draw, scale = Tracker(seed, beginning(seed)), Draw("issue_tracker", seed, size), SIZES[size]
    if size == "large":
        tracker.issues.width = tracker.comments.width = tracker.work.width = 6
    for person in cast(seed, scale.people):
        tracker.people.put(person)
    keys = draw.sample(tuple(PROJECTS), scale.projects)
    plans = [add_project(tracker, draw, key, place, scale.members, scale.closed) for place, key in enumerate(keys)]
    for plan in plans:
        add_issues(tracker, draw, scale, plan)
    fit_capacities(tracker, draw)
    add_links(tracker, draw, scale.linked)
    add_comments(tracker, draw, scale.comments)
    add_work(tracker, draw, scale.logs)
    return tracker


def add_issues(tracker: Tracker, draw: Draw, scale: Size, plan: Plan) -> None:
    """The issues of a project: an epic in eight, sub-tasks in a few, the rest stories, bugs and tasks."""
    epics: list[Issue] = []
    kinds: list[IssueType] = ["story", "bug", "task", "story", "bug", "task", "subtask"]
    parents: list[Issue] = []
    for number in range(scale.issues):
        type: IssueType = "epic" if number % 8 == 0 else kinds[number % 8 - 1]
        parent = (
            draw.choice(parents) if type == "subtask" else draw.choice(epics) if epics and draw.chance(0.5) else None
        )
        issue = add_issue(tracker, draw, plan, number, type, None if type == "epic" else parent)
        if type == "epic":
            epics.append(issue)
        elif type in SIZED:
            parents.append(issue)


def add_issue(tracker: Tracker, draw: Draw, plan: Plan, number: int, type: IssueType, parent: Issue | None) -> Issue:
    """An issue somewhere between the backlog and a closed sprint."""
    members = plan.project.members
    status, sprint, version = state_of(draw, plan, type, number)
    if parent and not parent.is_open:
        status, version = "done", None
    assignee = draw.choice(members) if status != "to do" or draw.chance(0.5) else None
    if status == "in progress" and assignee and full(tracker, plan.project, assignee):
        status = "to do"
    reporter = draw.choice(members)
    age = draw.integer(1, 25) if status == "to do" else draw.integer(26, 160)
    begun = tracker.sprints[sprint].start if sprint else None
    if begun and status == "done":
        age = (tracker.now.date() - begun).days + draw.integer(1, 30)
    return tracker.issues.put(
        Issue(
            id=fresh(tracker.issues, f"{plan.project.key}/{number}"),
            project=plan.project.id,
            type=type,
            title=title_of(draw, type),
            status=status,
            priority=draw.choice(PRIORITIES),
            reporter=reporter,
            created=(tracker.now - timedelta(days=age)).replace(hour=draw.integer(7, 18), minute=draw.integer(0, 59)),
            assignee=assignee,
            resolution=resolution_of(draw, type) if status == "done" else None,
            points=draw.choice(POINTS) if type in SIZED and (sprint or draw.chance(0.8)) else None,
            estimate=draw.integer(2, 40) * 30 if type != "epic" and draw.chance(0.6) else None,
            parent=parent.id if parent else None,
            sprint=sprint,
            version=version,
            labels=tuple(draw.sample(LABELS, draw.choice((0, 1, 1, 2)))),
            watchers=tuple(dict.fromkeys([reporter, *([assignee] if assignee else [])])),
            votes=tuple(person for person in draw.sample(members, draw.integer(0, 2)) if person != reporter),
        )
    )


def state_of(
    draw: Draw, plan: Plan, type: IssueType, number: int
) -> tuple[IssueStatus, SprintId | None, SoftwareVersionId | None]:
    """Where an issue is: epics and sub-tasks in no sprint, others done, in this sprint, the next or none."""
    if type not in SIZED:
        return draw.choice(("to do", "in progress")) if type == "epic" else "to do", None, None
    place = number % 8
    if place in (1, 5) and plan.closed:
        ended = draw.choice(plan.closed)
        return "done", ended, plan.ready if draw.chance(0.7) or number < 8 else plan.released
    if place in (2, 3) and plan.current:
        return draw.choice(tuple(WORKFLOWS[type])), plan.current, plan.coming if draw.chance(0.6) else None
    if place == 4:
        return "to do", plan.planned, plan.coming if draw.chance(0.5) else None
    return draw.choice(("to do", "to do", "in progress")), None, None


def full(tracker: Tracker, project: Project, person: EmailAddress) -> bool:
    busy = tracker.issues.where(assignee=person, status="in progress", project=project.id)
    return len(busy) >= project.wip_limit


def resolution_of(draw: Draw, type: IssueType) -> Resolution:
    return draw.choice(("fixed", "fixed", "not reproducible") if type == "bug" else ("delivered", "will not do"))


def title_of(draw: Draw, type: IssueType) -> str:
    part = draw.choice(PARTS)
    if type == "bug":
        return f"{part} {draw.choice(FAULTS)}"
    forms = {"epic": GOALS, "story": WISHES, "task": CHORES, "subtask": STEPS}
    return draw.choice(forms[type]).format(part)


def fit_capacities(tracker: Tracker, draw: Draw) -> None:
    """Give each sprint room for what is in it, and mostly for some points more."""
    for sprint in tracker.sprints:
        more = draw.choice((0, 2, 5, 8, 13)) if sprint.status == "active" else draw.integer(0, 12)
        tracker.sprints.change(sprint.id, capacity=max(1, tracker.points_in(sprint.id) + more))
