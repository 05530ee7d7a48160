"""What happened to the seeded issues: links between them, comments, and the work done."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

from ..kit import Draw
from ..people import EmailAddress
from .names import REMARKS
from .state import Comment, Issue, Link, LinkKind, Tracker, WorkLog

MOST_A_DAY = 400
MINUTE = timedelta(minutes=1)


def add_links(tracker: Tracker, draw: Draw, count: int) -> None:
    """Links from older to newer rows of a project, so that none goes round in a circle."""
    rows, told = list(tracker.issues), dict[tuple[str, str], None]()
    place = {issue.id: number for number, issue in enumerate(rows)}
    by_project = {project.id: tracker.issues.where(project=project.id) for project in tracker.projects}
    for number in range(count):
        issues = by_project[draw.choice(rows).project]
        one, other = sorted(draw.sample(issues, 2), key=lambda issue: place[issue.id])
        kind: LinkKind = draw.weighted(("blocks", "relates to", "duplicates"), (6, 3, 1))
        if (one.id, other.id) in told:
            continue
        told[one.id, other.id] = None
        tracker.links.cause = f"seed/{number}"
        tracker.links.put(Link(id=tracker.links.new_id(), source=one.id, kind=kind, target=other.id))


def add_comments(tracker: Tracker, draw: Draw, count: int) -> None:
    """Remarks of the last weeks, in order of time."""
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
    """So many times between the report of an issue and now, the earliest first."""
    found = []
    for _ in range(count):
        issue = draw.choice(issues)
        age = (tracker.now - issue.created) // MINUTE
        found.append((tracker.now - draw.integer(1, age) * MINUTE, issue))
    return sorted(found, key=lambda pair: (pair[0], pair[1].id))


def add_work(tracker: Tracker, draw: Draw, count: int) -> None:
    """Work on issues that were begun, in order of time and never too much on one day."""
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
    """Mostly who the issue is assigned to."""
    if issue.assignee and draw.chance(0.8):
        return issue.assignee
    return draw.choice(tracker.projects[issue.project].members)
