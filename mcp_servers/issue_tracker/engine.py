"""The workflow (which status may follow which, by type), and refusals of the issue tracker."""

from __future__ import annotations

from ..kit import ToolError
from ..people import EmailAddress
from .state import Issue, IssueId, IssueStatus, IssueType, Project, Sprint, Tracker, TrackerProjectId

# The workflow: which status may follow which, by type, and what lies beneath what.

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
"""What has points and is planned in sprints; sub-tasks go with what they are beneath."""


# When the tracker refuses: who is no member, what is done, full, or in another project.


def own_project(tracker: Tracker, id: TrackerProjectId) -> Project:
    """The project, which the user is a member of. Raises ToolError otherwise."""
    project = tracker.projects[id]
    if tracker.me not in project.members:
        raise ToolError("not_a_member", f"You are no member of {project.name}, so you can only read there.")
    return project


def own_issue(tracker: Tracker, id: IssueId) -> Issue:
    """The issue, in a project of the user's. Raises ToolError otherwise."""
    issue = tracker.issues[id]
    own_project(tracker, issue.project)
    return issue


def open_issue(tracker: Tracker, id: IssueId) -> Issue:
    """The issue, which the user may change and which is not done. Raises ToolError otherwise."""
    issue = own_issue(tracker, id)
    if not issue.is_open:
        raise ToolError("issue_done", f"{id} ({issue.title}) is done; move it back to to do first.")
    return issue


def require_same_project(issue: Issue, project: TrackerProjectId, what: str) -> None:
    """Raises ToolError when something belongs to another project than the issue."""
    if issue.project != project:
        raise ToolError("other_project", f"{what} is of another project than {issue.id}; name one of its own.")


def require_sized(issue: Issue) -> None:
    """Raises ToolError for an epic or a sub-task."""
    if issue.type not in SIZED:
        raise ToolError("not_sized", f"{issue.id} is {named(issue.type)}; only stories, bugs and tasks have points.")


def require_room(tracker: Tracker, sprint: Sprint, more: int) -> None:
    """Raises ToolError when a sprint cannot hold so many more points."""
    free = sprint.capacity - tracker.points_in(sprint.id)
    if more > free:
        raise ToolError(
            "sprint_over_capacity", f"{sprint.name} has {free} of {sprint.capacity} points free; plan less for it."
        )


def require_not_busy(tracker: Tracker, issue: Issue, person: EmailAddress) -> None:
    """Raises ToolError when a person has as many issues of the project in progress as it allows."""
    project = tracker.projects[issue.project]
    busy = [row for row in tracker.issues.where(assignee=person, status="in progress") if row.project == project.id]
    if len(busy) >= project.wip_limit:
        raise ToolError(
            "wip_limit", f"{busy[0].id} and others, {len(busy)} in all, are in progress; finish one of them first."
        )


def require_unblocked(tracker: Tracker, issue: Issue) -> None:
    """Raises ToolError while an open issue blocks this one."""
    blockers = tracker.blockers(issue.id)
    if blockers:
        raise ToolError(
            "blocked_by_open_issue", f"{blockers[0].id} ({blockers[0].title}) blocks it; finish that first."
        )


def named(type: str) -> str:
    return f"an {type}" if type == "epic" else f"a {type}"


def with_one(people: tuple[EmailAddress, ...], person: EmailAddress) -> tuple[EmailAddress, ...]:
    """The people and this one, once."""
    return people if person in people else (*people, person)
