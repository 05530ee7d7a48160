"""Tools that write issues down and change their size, priority, labels and version."""

from __future__ import annotations

from ..kit import ToolError
from .parameters import (
    Estimate,
    IssueRef,
    Labels,
    NewPriority,
    NewVersion,
    Parent,
    Points,
    ProjectRef,
    Title,
    Type,
)
from .rules import named, open_issue, own_project, require_room, require_same_project, require_sized
from .serializers import issue_details, issue_line
from .server import server
from .state import LABELS, Issue, SoftwareVersionId, Tracker
from .views import IssueDetails, IssueLine
from .workflow import PARENTS


@server.write()
def create_issue(
    tracker: Tracker,
    project: ProjectRef,
    type: Type,
    title: Title,
    parent: Parent = None,
    priority: NewPriority = None,
    points: Points = None,
) -> IssueLine:
    """Create an issue in a project of yours; you watch it."""
    own_project(tracker, project)
    issue = Issue(
        id=tracker.issues.new_id(),
        project=project,
        type=type,
        title=title,
        status="to do",
        priority=priority or "medium",
        reporter=tracker.me,
        created=tracker.now,
        points=points,
        parent=parent,
        watchers=(tracker.me,),
    )
    require_parent(tracker, issue)
    if points is not None:
        require_sized(issue)
    return issue_line(tracker, tracker.issues.put(issue))


def require_parent(tracker: Tracker, issue: Issue) -> None:
    """Raises ToolError unless the issue may lie where it is put."""
    if issue.parent is None:
        if issue.type == "subtask":
            raise ToolError("parent_required", "A sub-task is part of a story, bug or task; give its parent.")
        return
    parent, allowed = tracker.issues[issue.parent], PARENTS[issue.type]
    if parent.type not in allowed:
        places = " or ".join(named(one) for one in allowed) or "nothing"
        raise ToolError(
            "wrong_parent", f"{parent.id} is {named(parent.type)}; {named(issue.type)} lies beneath {places}."
        )
    require_same_project(parent, issue.project, "The new issue")
    if not parent.is_open:
        raise ToolError("parent_done", f"{parent.id} ({parent.title}) is done; name an open parent.")


@server.write(idempotent=True)
def edit_issue(
    tracker: Tracker,
    issue: IssueRef,
    priority: NewPriority = None,
    points: Points = None,
    estimate: Estimate = None,
    labels: Labels = None,
    version: NewVersion = None,
) -> IssueDetails:
    """Change an open issue's priority, points, estimate, labels or version."""
    row = open_issue(tracker, issue)
    if (priority, points, estimate, labels, version) == (None,) * 5:
        raise ToolError("nothing_to_change", "Give at least one of priority, points, estimate, labels and version.")
    if points is not None:
        require_size(tracker, row, points)
    if version is not None:
        require_unreleased(tracker, row, version)
    changed = tracker.issues.change(
        issue,
        priority=priority or row.priority,
        points=points or row.points,
        estimate=estimate or row.estimate,
        labels=row.labels if labels is None else known_labels(labels),
        version=version or row.version,
    )
    return issue_details(tracker, changed)


def require_size(tracker: Tracker, issue: Issue, points: int) -> None:
    """Raises ToolError when an issue has no points, or its active sprint has no room for so many."""
    require_sized(issue)
    sprint = tracker.sprints[issue.sprint] if issue.sprint else None
    if sprint and sprint.status == "active":
        require_room(tracker, sprint, points - (issue.points or 0))


def require_unreleased(tracker: Tracker, issue: Issue, id: SoftwareVersionId) -> None:
    version = tracker.versions[id]
    require_same_project(issue, version.project, id)
    if version.status == "released":
        raise ToolError("version_released", f"{version.name} is released; name a version still to come.")


def known_labels(labels: tuple[str, ...]) -> tuple[str, ...]:
    """The labels, each once. Raises ToolError for one that does not exist."""
    for label in labels:
        if label not in LABELS:
            raise ToolError("no_such_label", f"There is no label {label}; use one of {', '.join(LABELS)}.")
    return tuple(dict.fromkeys(labels))
