"""Workflows (allowed status transitions by issue type) and the tracker's checks that raise ToolError."""

from __future__ import annotations

from ..core import ToolError
from ..shared.people import EmailAddress
from .state import Issue, IssueId, IssueStatus, IssueType, Project, Sprint, Tracker, TrackerProjectId

# Workflows: the allowed status transitions and parent types of each issue type.

Workflow = dict[IssueStatus, tuple[IssueStatus, ...]]

SHORT: Workflow = {
    "to do": ("in progress", "done"),
    "in progress": ("done", "to do"),
    "done": ("to do",),
}
REVIEWED: Workflow = {
    "to do": ("in progress", "done"),
    "in progress": ("in review", "to do"),
    "in review": ("done", "in progress"),
    "done": ("to do",),
}
TESTED: Workflow = {
    "to do": ("in progress", "done"),
    "in progress": ("in review", "to do"),
    "in review": ("in test", "in progress"),
    "in test": ("done", "in progress"),
    "done": ("to do",),
}
WORKFLOWS: dict[IssueType, Workflow] = {
    "epic": SHORT,
    "story": REVIEWED,
    "bug": TESTED,
    "task": SHORT,
    "subtask": SHORT,
}
PARENTS: dict[IssueType, tuple[IssueType, ...]] = {
    "epic": (),
    "story": ("epic",),
    "bug": ("epic",),
    "task": ("epic",),
    "subtask": ("story", "bug", "task"),
}
SIZED: tuple[IssueType, ...] = ("story", "bug", "task")
"""Issue types that have points and are planned in sprints; sub-tasks go with their parent."""


# Checks that raise ToolError: missing membership, done or blocked issues, full sprints, other projects.


def own_project(tracker: Tracker, id: TrackerProjectId) -> Project:
    """Return the project. Raises ToolError when the user is not a member of it."""
    project = tracker.projects[id]
    if tracker.me not in project.members:
        raise ToolError("not_a_member", f"You are no member of {project.name}, so you can only read there.")
    return project


def own_issue(tracker: Tracker, id: IssueId) -> Issue:
    """Return the issue. Raises ToolError when the user is not a member of its project."""
    issue = tracker.issues[id]
    own_project(tracker, issue.project)
    return issue


def open_issue(tracker: Tracker, id: IssueId) -> Issue:
    """Return the issue. Raises ToolError when it is done or the user may not change it."""
    issue = own_issue(tracker, id)
    if not issue.is_open:
        raise ToolError("issue_done", f"{id} ({issue.title}) is done; move it back to to do first.")
    return issue


def require_same_project(issue: Issue, project: TrackerProjectId, what: str) -> None:
    """Raise ToolError when something belongs to another project than the issue."""
    if issue.project != project:
        raise ToolError("other_project", f"{what} is of another project than {issue.id}; name one of its own.")


def require_sized(issue: Issue) -> None:
    """Raise ToolError for an epic or a sub-task."""
    if issue.type not in SIZED:
        raise ToolError(
            "not_sized", f"{issue.id} is {add_article(issue.type)}; only stories, bugs and tasks have points."
        )


def require_room(tracker: Tracker, sprint: Sprint, more: int) -> None:
    """Raise ToolError when a sprint has no capacity for `more` additional points."""
    free = sprint.capacity - tracker.points_in(sprint.id)
    if more > free:
        raise ToolError(
            "sprint_over_capacity", f"{sprint.name} has {free} of {sprint.capacity} points free; plan less for it."
        )


def require_not_busy(tracker: Tracker, issue: Issue, person: EmailAddress) -> None:
    """Raise ToolError when a person has reached the project's limit of issues in progress."""
    project = tracker.projects[issue.project]
    busy = [row for row in tracker.issues.where(assignee=person, status="in progress") if row.project == project.id]
    if len(busy) >= project.wip_limit:
        raise ToolError(
            "wip_limit", f"{busy[0].id} and others, {len(busy)} in all, are in progress; finish one of them first."
        )


def require_unblocked(tracker: Tracker, issue: Issue) -> None:
    """Raise ToolError while an open issue blocks this one."""
    blockers = tracker.blockers(issue.id)
    if blockers:
        raise ToolError(
            "blocked_by_open_issue", f"{blockers[0].id} ({blockers[0].title}) blocks it; finish that first."
        )


def add_article(type: str) -> str:
    return f"an {type}" if type == "epic" else f"a {type}"


def with_one(people: tuple[EmailAddress, ...], person: EmailAddress) -> tuple[EmailAddress, ...]:
    """Return the people with this person added, unless already among them."""
    return people if person in people else (*people, person)
