"""Tools that browse projects, issues and the board, and tools for assignments, comments and work logs."""

from __future__ import annotations

from heapq import nlargest
from operator import attrgetter

from ..core import Day, Entity, ToolError
from .engine import REVIEWED, TESTED, open_issue, own_issue, require_not_busy, with_one
from .query import find_matching_issues
from .server import ROWS, AssigneeRef, CommentText, IssueRef, Limit, Minutes, ProjectRef, Query, server
from .state import Comment, Issue, IssueId, IssueStatus, SprintId, Tracker, WorkLog, WorkLogId
from .views import (
    IssueDetails,
    IssueLine,
    ProjectDetails,
    ProjectLine,
    issue_details,
    issue_line,
    project_details,
    project_line,
)

# Tools for participation: assignees, watchers, votes, comments and work logs.

MOST_A_DAY = 600


class Attention(Entity):
    """How many people watch an issue and voted for it."""

    __label__ = "the issue {title}"
    id: IssueId
    title: str
    watchers: int
    votes: int


class LoggedWork(Entity):
    """Work that was logged, and how many minutes its issue has in all; `left` of its estimate."""

    id: WorkLogId
    issue: IssueId
    minutes: int
    logged: int
    left: int | None = None


@server.write(idempotent=True)
def assign_issue(tracker: Tracker, issue: IssueRef, assignee: AssigneeRef) -> IssueLine:
    """Assign an open issue to a member of its project, who then watches it."""
    row, person = open_issue(tracker, issue), tracker.people[assignee]
    project = tracker.projects[row.project]
    if assignee not in project.members:
        raise ToolError("not_a_member", f"{person.name} is no member of {project.name}; name somebody who is.")
    if row.assignee == assignee:
        raise ToolError("already_assigned", f"{issue} is assigned to {person.name} already; nothing is left to do.")
    if row.status == "in progress":
        require_not_busy(tracker, row, assignee)
    watchers = with_one(row.watchers, assignee)
    return issue_line(tracker, tracker.issues.change(issue, assignee=assignee, watchers=watchers))


@server.write(idempotent=True)
def watch_issue(tracker: Tracker, issue: IssueRef) -> Attention:
    """Watch an issue of one of your projects."""
    row = own_issue(tracker, issue)
    if tracker.me in row.watchers:
        raise ToolError("already_watching", f"You watch {issue} already; nothing is left to do.")
    return attention(tracker.issues.change(issue, watchers=(*row.watchers, tracker.me)))


@server.write(idempotent=True)
def vote_for_issue(tracker: Tracker, issue: IssueRef) -> Attention:
    """Vote for an open issue that somebody else reported."""
    row = open_issue(tracker, issue)
    if row.reporter == tracker.me:
        raise ToolError("own_vote", f"You reported {issue} yourself; vote for issues of others.")
    if tracker.me in row.votes:
        raise ToolError("already_voted", f"You voted for {issue} already; nothing is left to do.")
    return attention(tracker.issues.change(issue, votes=(*row.votes, tracker.me)))


def attention(issue: Issue) -> Attention:
    return Attention(id=issue.id, title=issue.title, watchers=len(issue.watchers), votes=len(issue.votes))


@server.write()
def comment_on_issue(tracker: Tracker, issue: IssueRef, text: CommentText) -> Comment:
    """Comment on an issue of one of your projects. You watch it from then on."""
    row = own_issue(tracker, issue)
    tracker.issues.change(issue, watchers=with_one(row.watchers, tracker.me))
    return tracker.comments.put(
        Comment(id=tracker.comments.new_id(), issue=issue, author=tracker.me, at=tracker.now, text=text)
    )


@server.write()
def log_work(tracker: Tracker, issue: IssueRef, minutes: Minutes) -> LoggedWork:
    """Log minutes you worked today on an issue that is under way."""
    row = open_issue(tracker, issue)
    if row.type == "epic":
        raise ToolError("epic_has_no_work", f"{issue} is an epic; log work on an issue beneath it.")
    if row.status == "to do":
        raise ToolError("not_started", f"{issue} is still to do; move it to in progress first.")
    today = tracker.now.date()
    left = MOST_A_DAY - sum(log.minutes for log in tracker.work.where(author=tracker.me) if log.at.date() == today)
    if minutes > left:
        raise ToolError("day_full", f"You can log {left} minutes more today, {MOST_A_DAY} in all; log less.")
    id = tracker.work.new_id()
    tracker.work.put(WorkLog(id=id, issue=issue, author=tracker.me, at=tracker.now, minutes=minutes))
    logged = tracker.issues.change(issue, logged=row.logged + minutes).logged
    rest = None if row.estimate is None else max(0, row.estimate - logged)
    return LoggedWork(id=id, issue=issue, minutes=minutes, logged=logged, left=rest)


# Read-only tools: projects, issues and the board.

COLUMNS = tuple(dict.fromkeys([*REVIEWED, *TESTED]))


class Column(Entity):
    """The issues of a sprint in one status: how many there are, and the first of them."""

    status: IssueStatus
    count: int
    issues: tuple[IssueLine, ...]


class Board(Entity):
    """The active sprint of a project; `done` of its points are done."""

    __label__ = "the sprint {name}"
    id: SprintId
    name: str
    end: Day
    points: int
    done: int
    capacity: int
    columns: tuple[Column, ...]


@server.read()
def list_tracker_projects(tracker: Tracker, limit: Limit = ROWS) -> tuple[ProjectLine, ...]:
    """List projects with their number of open issues."""
    return tuple(project_line(tracker, row) for row in list(tracker.projects)[:limit])


@server.read()
def get_tracker_project(tracker: Tracker, project: ProjectRef) -> ProjectDetails:
    """Get a project's members, sprints, versions and limit of work in progress."""
    return project_details(tracker, tracker.projects[project])


@server.read()
def search_issues(tracker: Tracker, query: Query, limit: Limit = ROWS) -> tuple[IssueLine, ...]:
    """Search issues by words and fields, newest first."""
    rows = nlargest(limit, find_matching_issues(tracker, query), key=attrgetter("created", "id"))
    return tuple(issue_line(tracker, row) for row in rows)


@server.read()
def get_issue(tracker: Tracker, issue: IssueRef) -> IssueDetails:
    """Get one issue with its links, comments, what lies beneath and possible next statuses."""
    return issue_details(tracker, tracker.issues[issue])


@server.read()
def view_sprint_board(tracker: Tracker, project: ProjectRef, limit: Limit = ROWS) -> Board:
    """View the active sprint of a project as a board."""
    name = tracker.projects[project].name
    sprint = tracker.active_sprint(project)
    if sprint is None or sprint.end is None:
        raise ToolError("no_active_sprint", f"{name} has no active sprint; start a planned one first.")
    rows = tracker.issues.where(sprint=sprint.id)
    columns = []
    for status in COLUMNS:
        here = [row for row in rows if row.status == status]
        lines = tuple(issue_line(tracker, row) for row in here[:limit])
        columns.append(Column(status=status, count=len(here), issues=lines))
    return Board.from_row(
        sprint,
        points=sum(row.points or 0 for row in rows),
        done=sum(row.points or 0 for row in rows if not row.is_open),
        columns=tuple(columns),
    )
