"""Tools on sprints: planning, filling, starting and closing them."""

from __future__ import annotations

from datetime import timedelta

from ..kit import ToolError
from .parameters import Capacity, IssueRef, NextSprint, ProjectRef, SprintName, SprintRef, Weeks
from .rules import open_issue, own_project, require_room, require_same_project
from .serializers import sprint_row
from .server import server
from .state import Sprint, SprintId, Tracker
from .views import SprintRow
from .workflow import SIZED

MOST_PLANNED = 4


def unfinished_sprint(tracker: Tracker, id: SprintId) -> Sprint:
    """The sprint, which is not closed. Raises ToolError otherwise."""
    sprint = tracker.sprints[id]
    own_project(tracker, sprint.project)
    if sprint.status == "closed":
        raise ToolError("sprint_closed", f"{sprint.name} is closed; use another sprint.")
    return sprint


@server.write(idempotent=True)
def create_sprint(tracker: Tracker, project: ProjectRef, name: SprintName, capacity: Capacity) -> SprintRow:
    """Create a planned sprint in a project of yours."""
    own_project(tracker, project)
    sprints = tracker.sprints.where(project=project)
    for sprint in sprints:
        if sprint.name.casefold() == name.casefold():
            raise ToolError("sprint_exists", f"{sprint.id} has this name already; use it or choose another name.")
    if sum(sprint.status == "planned" for sprint in sprints) >= MOST_PLANNED:
        raise ToolError("too_many_sprints", f"{MOST_PLANNED} sprints are planned already; start or use one of them.")
    sprint = Sprint(id=tracker.sprints.new_id(), project=project, name=name, capacity=capacity, status="planned")
    return sprint_row(tracker, tracker.sprints.put(sprint))


@server.write(idempotent=True)
def add_to_sprint(tracker: Tracker, issue: IssueRef, sprint: SprintRef) -> SprintRow:
    """Plan an open story, bug or task with points for a sprint."""
    row, goal = open_issue(tracker, issue), unfinished_sprint(tracker, sprint)
    require_same_project(row, goal.project, sprint)
    if row.type not in SIZED:
        raise ToolError("not_plannable", f"{issue} is an epic or sub-task; plan the story, bug or task it goes with.")
    if row.sprint == sprint:
        raise ToolError("already_in_sprint", f"{issue} is in {goal.name} already; nothing is left to do.")
    if row.points is None:
        raise ToolError("points_required", f"{issue} has no points yet; edit it to give it some.")
    if goal.status == "active":
        require_room(tracker, goal, row.points)
    tracker.issues.change(issue, sprint=sprint)
    return sprint_row(tracker, goal)


@server.write(idempotent=True)
def start_sprint(tracker: Tracker, sprint: SprintRef, weeks: Weeks = 2) -> SprintRow:
    """Start a planned sprint, the only active one of its project. It lasts two weeks by default."""
    row = unfinished_sprint(tracker, sprint)
    if row.status == "active":
        raise ToolError("sprint_active", f"{row.name} is active already; nothing is left to do.")
    active = tracker.active_sprint(row.project)
    if active:
        raise ToolError("another_sprint_active", f"{active.id} ({active.name}) is active; close it first.")
    if not tracker.issues.where(sprint=sprint):
        raise ToolError("sprint_empty", f"{row.name} has no issues; add some first.")
    require_room(tracker, row, 0)
    today = tracker.now.date()
    end = today + timedelta(weeks=weeks)
    return sprint_row(tracker, tracker.sprints.change(sprint, status="active", start=today, end=end))


@server.write(destructive=True, idempotent=True)
def close_sprint(tracker: Tracker, sprint: SprintRef, next_sprint: NextSprint = None) -> SprintRow:
    """Close the active sprint; open issues go to the backlog or a planned sprint."""
    row = unfinished_sprint(tracker, sprint)
    if row.status == "planned":
        raise ToolError("sprint_not_active", f"{row.name} was not started; only an active sprint is closed.")
    if next_sprint is not None:
        require_planned(tracker, row, next_sprint)
    for issue in tracker.issues.where(sprint=sprint):
        if issue.is_open:
            tracker.issues.change(issue.id, sprint=next_sprint)
    return sprint_row(tracker, tracker.sprints.change(sprint, status="closed", end=tracker.now.date()))


def require_planned(tracker: Tracker, sprint: Sprint, id: SprintId) -> None:
    """Raises ToolError unless open issues of a sprint can go to this one."""
    other = unfinished_sprint(tracker, id)
    if other.project != sprint.project:
        raise ToolError("other_project", f"{other.name} is of another project; name a planned sprint of this one.")
    if other.status != "planned":
        raise ToolError("sprint_not_planned", f"{other.name} is {other.status}; name a planned sprint.")
