"""Seeded initial state of the tracker: projects with people, sprints, versions, and issues in every status."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

from ..core import Draw, derive_row_id
from ..shared.people import EmailAddress, cast, get_start_time
from .engine import SIZED, WORKFLOWS
from .state import (
    LABELS,
    Comment,
    Issue,
    IssueStatus,
    IssueType,
    Link,
    LinkKind,
    Priority,
    Project,
    Resolution,
    SoftwareVersionId,
    Sprint,
    SprintId,
    SprintStatus,
    Tracker,
    Version,
    WorkLog,
)

# Vocabulary of the seeded tracker: projects, parts of software, and their faults and tasks.

PROJECTS = {
    "APP": "Mobile app",
    "BIL": "Billing",
    "DAT": "Data platform",
    "DOC": "Documentation",
    "GAM": "Game client",
    "HLP": "Help centre",
    "IDN": "Identity service",
    "INF": "Infrastructure",
    "MAP": "Map viewer",
    "PAY": "Payment gateway",
    "POR": "Partner portal",
    "WEB": "Web shop",
}
PARTS = (
    "account page", "admin panel", "basket", "calendar view", "chat window", "checkout", "coupon form", "dashboard",
    "email template", "export", "file upload", "help page", "image viewer", "import", "invoice list", "login",
    "map", "menu", "newsletter", "order history", "password reset", "payment form", "photo gallery", "price list",
    "product page", "profile", "report", "search", "settings page", "sign-up", "start page", "user list",
)  # fmt: skip
FAULTS = (
    "crashes on save", "forgets the filter", "freezes on old phones", "is empty after reload", "is slow at noon",
    "loses the last line", "rejects long names", "shows the wrong date", "shows the wrong total",
    "sorts by the wrong column", "times out", "truncates umlauts", "works only once",
)  # fmt: skip
WISHES = (
    "add filters to the {}", "add keyboard shortcuts to the {}", "let users customise the {}", "make the {} printable",
    "offer the {} in four languages", "redesign the {}", "save drafts in the {}", "share the {} by link",
    "show hints in the {}", "support dark mode in the {}",
)  # fmt: skip
CHORES = (
    "clean up the code of the {}", "document the {}", "measure the speed of the {}", "move the {} to the new framework",
    "remove dead code from the {}", "review the security of the {}", "update the libraries of the {}",
    "write tests for the {}",
)  # fmt: skip
STEPS = (
    "agree on the design of the {}", "ask users about the {}", "change the interface of the {}",
    "prepare test data for the {}", "translate the texts of the {}", "write the migration for the {}",
)  # fmt: skip
GOALS = (
    "a faster {}", "a new {}", "a safer {}", "an accessible {}", "less support for the {}", "the {} on every device",
)  # fmt: skip
REMARKS = (
    "happens to me as well", "I have a fix for this", "is this still wanted", "logs are attached to the build",
    "only with the old driver", "please check the staging server", "ready for another look", "the customer is waiting",
    "the texts are missing", "we agreed on the second variant", "will look at it tomorrow", "works on my machine",
)  # fmt: skip


# Seeded projects with their members, sprints and versions, created before the issues.

Id = TypeVar("Id", bound=str)


class Plan(NamedTuple):
    """The sprints and versions of a project that its issues are put into."""

    project: Project
    closed: list[SprintId]
    current: SprintId | None
    planned: SprintId
    released: SoftwareVersionId
    ready: SoftwareVersionId
    coming: SoftwareVersionId


def add_project(tracker: Tracker, draw: Draw, key: str, place: int, size: int, past: int) -> Plan:
    """Add a project with `size` members and `past` closed sprints.

    The user is a member of the first project and of most others; the second may have no active sprint.
    """
    others = [row.id for row in tracker.people if row.id != tracker.me]
    members = draw.sample(others, size)
    if place == 0 or draw.chance(0.7):
        members = draw.shuffle_items([tracker.me, *members[1:]])
    project = tracker.projects.put(
        Project(
            id=derive_row_id(tracker.projects, key),
            key=key,
            name=PROJECTS[key],
            lead=draw.choice(members),
            members=tuple(members),
            wip_limit=draw.integer(2, 3),
        )
    )
    first = draw.integer(3, 30)
    closed = [add_sprint(tracker, project, first + number, "closed", past - number) for number in range(past)]
    number = first + past
    current = None if place == 1 and draw.chance(0.6) else add_sprint(tracker, project, number, "active", 0)
    planned = add_sprint(tracker, project, number + 1, "planned", 0)
    major, minor = draw.integer(1, 6), draw.integer(0, 8)
    versions = [add_version(tracker, draw, project, f"{major}.{minor + step}", step) for step in range(3)]
    return Plan(project, closed, current, planned, *versions)


def add_sprint(tracker: Tracker, project: Project, number: int, status: SprintStatus, ago: int) -> SprintId:
    """Add a two-week sprint; a closed one began `ago` fortnights before the active one."""
    begun = tracker.now.date() - timedelta(days=14 * ago + 5)
    started = status != "planned"
    id = derive_row_id(tracker.sprints, f"{project.key}/{number}")
    tracker.sprints.put(
        Sprint(
            id=id,
            project=project.id,
            name=f"{project.key} {number}",
            capacity=0,
            status=status,
            start=begun if started else None,
            end=begun + timedelta(days=14) if started else None,
        )
    )
    return id


def add_version(tracker: Tracker, draw: Draw, project: Project, name: str, step: int) -> SoftwareVersionId:
    """Add a version: step 0 is released, the others are due in the coming weeks."""
    today, id = tracker.now.date(), derive_row_id(tracker.versions, f"{project.key}/{name}")
    due = today + timedelta(days=30 * step + draw.integer(-20, -5))
    tracker.versions.put(
        Version(
            id=id,
            project=project.id,
            name=f"{project.key} {name}",
            status="unreleased" if step else "released",
            due=due,
            released=None if step else due,
        )
    )
    return id


# History of the seeded issues: links between them, comments and logged work.

MOST_A_DAY = 400
MINUTE = timedelta(minutes=1)


def add_links(tracker: Tracker, draw: Draw, count: int) -> None:
    """Add links from earlier to later rows of a project, so that they form no cycle."""
    rows, linked = list(tracker.issues), dict[tuple[str, str], None]()
    place = {issue.id: number for number, issue in enumerate(rows)}
    by_project = {project.id: tracker.issues.where(project=project.id) for project in tracker.projects}
    for number in range(count):
        issues = by_project[draw.choice(rows).project]
        one, other = sorted(draw.sample(issues, 2), key=lambda issue: place[issue.id])
        kind: LinkKind = draw.choose_weighted(("blocks", "relates to", "duplicates"), (6, 3, 1))
        if (one.id, other.id) in linked:
            continue
        linked[one.id, other.id] = None
        tracker.links.cause = f"seed/{number}"
        tracker.links.put(Link(id=tracker.links.new_id(), source=one.id, kind=kind, target=other.id))


def add_comments(tracker: Tracker, draw: Draw, count: int) -> None:
    """Add comments on random issues, in chronological order."""
    for number, (at, issue) in enumerate(moments(tracker, draw, list(tracker.issues), count)):
        tracker.comments.cause = f"seed/{number}"
        tracker.comments.put(
            Comment(
                id=tracker.comments.new_id(),
                issue=issue.id,
                author=draw.choice(tracker.projects[issue.project].members),
                at=at,
                text=draw.choice(REMARKS),
            )
        )


def moments(tracker: Tracker, draw: Draw, issues: list[Issue], count: int) -> list[tuple[datetime, Issue]]:
    """Return `count` times between the report of a random issue and now, with the issue, earliest first."""
    found = []
    for _ in range(count):
        issue = draw.choice(issues)
        age = (tracker.now - issue.created) // MINUTE
        found.append((tracker.now - draw.integer(1, age) * MINUTE, issue))
    return sorted(found, key=lambda pair: (pair[0], pair[1].id))


def add_work(tracker: Tracker, draw: Draw, count: int) -> None:
    """Add work logs to started issues, in chronological order, at most MOST_A_DAY minutes a day and person."""
    begun = [row for row in tracker.issues if row.status != "to do" and row.type != "epic"]
    day, logged = Counter[tuple[str, str]](), Counter[str]()
    for number, (at, issue) in enumerate(moments(tracker, draw, begun, count)):
        author, minutes = worker(tracker, draw, issue), draw.integer(2, 16) * 10
        if day[author, at.date().isoformat()] + minutes > MOST_A_DAY:
            continue
        day[author, at.date().isoformat()] += minutes
        logged[issue.id] += minutes
        tracker.work.cause = f"seed/{number}"
        tracker.work.put(WorkLog(id=tracker.work.new_id(), issue=issue.id, author=author, at=at, minutes=minutes))
    for issue in begun:
        tracker.issues.change(issue.id, logged=logged[issue.id])


def worker(tracker: Tracker, draw: Draw, issue: Issue) -> EmailAddress:
    """Return who did the work: in most cases the assignee."""
    if issue.assignee and draw.chance(0.8):
        return issue.assignee
    return draw.choice(tracker.projects[issue.project].members)


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
    """Return the tracker for this seed; `size` is small, default or large."""
    tracker, draw, scale = Tracker(seed, get_start_time(seed)), Draw("issue_tracker", seed, size), SIZES[size]
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
    """Add the issues of a project: of every eight, one epic, one sub-task and six stories, bugs and tasks."""
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
    """Add an issue at some stage between the backlog and a closed sprint."""
    members = plan.project.members
    status, sprint, version = state_of(draw, plan, type, number)
    if parent and not parent.is_open:
        status, version = "done", None
    assignee = draw.choice(members) if status != "to do" or draw.chance(0.5) else None
    if status == "in progress" and assignee and is_at_wip_limit(tracker, plan.project, assignee):
        status = "to do"
    reporter = draw.choice(members)
    age = draw.integer(1, 25) if status == "to do" else draw.integer(26, 160)
    begun = tracker.sprints[sprint].start if sprint else None
    if begun and status == "done":
        age = (tracker.now.date() - begun).days + draw.integer(1, 30)
    return tracker.issues.put(
        Issue(
            id=derive_row_id(tracker.issues, f"{plan.project.key}/{number}"),
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
    """Draw status, sprint and version; epics and sub-tasks have no sprint, others a closed, current, next or none."""
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


def is_at_wip_limit(tracker: Tracker, project: Project, person: EmailAddress) -> bool:
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
    """Set each sprint's capacity to hold its issues, in most cases with some points to spare."""
    for sprint in tracker.sprints:
        more = draw.choice((0, 2, 5, 8, 13)) if sprint.status == "active" else draw.integer(0, 12)
        tracker.sprints.change(sprint.id, capacity=max(1, tracker.points_in(sprint.id) + more))
