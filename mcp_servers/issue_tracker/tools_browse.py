"""Tools that look: projects, issues, the board."""

from __future__ import annotations

from heapq import nlargest
from operator import attrgetter

from ..kit import Day, Entity, ToolError
from .parameters import ROWS, IssueRef, Limit, ProjectRef, Query
from .query import matching
from .serializers import issue_details, issue_line, project_details, project_line
from .server import server
from .state import IssueStatus, SprintId, Tracker
from .views import IssueDetails, IssueLine, ProjectDetails, ProjectLine
from .workflow import REVIEWED, TESTED

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
    rows = nlargest(limit, matching(tracker, query), key=attrgetter("created", "id"))
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
        shown = tuple(issue_line(tracker, row) for row in here[:limit])
        columns.append(Column(status=status, count=len(here), issues=shown))
    return Board(
        id=sprint.id,
        name=sprint.name,
        end=sprint.end,
        points=sum(row.points or 0 for row in rows),
        done=sum(row.points or 0 for row in rows if not row.is_open),
        capacity=sprint.capacity,
        columns=tuple(columns),
    )
