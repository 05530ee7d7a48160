"""Tools that bring issues and versions to their end: statuses, resolutions, releases."""

from __future__ import annotations

from ..kit import ToolError
from .parameters import IssueRef, NewResolution, NewStatus, VersionRef
from .rules import own_issue, own_project, require_not_busy, require_unblocked
from .serializers import issue_line, version_row
from .server import server
from .state import Issue, IssueStatus, Resolution, Tracker
from .views import IssueLine, VersionRow
from .workflow import WORKFLOWS

DROPPED: tuple[Resolution, ...] = ("will not do", "duplicate", "not reproducible")


@server.write(idempotent=True)
def transition_issue(
    tracker: Tracker, issue: IssueRef, status: NewStatus, resolution: NewResolution = None
) -> IssueLine:
    """Move an issue along its workflow; done needs a resolution."""
    row = own_issue(tracker, issue)
    allowed = WORKFLOWS[row.type][row.status]
    if status not in allowed:
        raise ToolError("transition_not_allowed", f"{issue} is {row.status}; from there it goes to {either(allowed)}.")
    if resolution is not None and status != "done":
        raise ToolError("resolution_not_allowed", "Only a done issue has a resolution; leave it out.")
    if status == "in progress":
        require_startable(tracker, row)
    if status == "done":
        require_finished(tracker, row, resolution)
        return issue_line(tracker, tracker.issues.change(issue, status=status, resolution=resolution))
    if not row.is_open:
        reopen(tracker, row)
    return issue_line(tracker, tracker.issues.change(issue, status=status))


def either(statuses: tuple[IssueStatus, ...]) -> str:
    return " or ".join(statuses)


def require_startable(tracker: Tracker, issue: Issue) -> None:
    """Raises ToolError unless somebody can work on the issue now."""
    if issue.assignee is None:
        raise ToolError("assignee_required", f"Nobody is assigned to {issue.id}; assign it first.")
    require_unblocked(tracker, issue)
    require_not_busy(tracker, issue, issue.assignee)


def require_finished(tracker: Tracker, issue: Issue, resolution: Resolution | None) -> None:
    """Raises ToolError for what is missing before the issue is done."""
    if resolution is None:
        raise ToolError("resolution_required", "A done issue has a resolution; give one.")
    beneath = [row for row in tracker.children(issue.id) if row.is_open]
    if beneath:
        raise ToolError("open_subtasks", f"{beneath[0].id} ({beneath[0].title}) beneath it is open; finish that first.")
    if resolution == "duplicate" and not tracker.links.where(source=issue.id, kind="duplicates"):
        raise ToolError("duplicate_link_required", f"Link {issue.id} to the issue that it duplicates first.")
    if resolution not in DROPPED:
        require_unblocked(tracker, issue)


def reopen(tracker: Tracker, issue: Issue) -> None:
    """Take the resolution off a done issue, and it out of a closed sprint. Raises ToolError for one that stays."""
    version = tracker.versions[issue.version] if issue.version else None
    if version and version.status == "released":
        raise ToolError("version_released", f"{issue.id} was released with {version.name}; create a new issue instead.")
    parent = tracker.issues[issue.parent] if issue.parent else None
    if parent and not parent.is_open:
        raise ToolError("parent_done", f"{parent.id} ({parent.title}) above it is done; reopen that first.")
    closed = issue.sprint is not None and tracker.sprints[issue.sprint].status == "closed"
    tracker.issues.change(issue.id, resolution=None, sprint=None if closed else issue.sprint)


@server.write(destructive=True, idempotent=True)
def release_version(tracker: Tracker, version: VersionRef) -> VersionRow:
    """Release a version whose issues are all done; there is no way back."""
    row = tracker.versions[version]
    own_project(tracker, row.project)
    if row.status == "released":
        raise ToolError("version_released", f"{row.name} was released on {row.released}; nothing is left to do.")
    issues = tracker.issues.where(version=version)
    if not issues:
        raise ToolError("version_empty", f"{row.name} contains no issues; plan one for it first.")
    waiting = [issue for issue in issues if issue.is_open]
    if waiting:
        raise ToolError(
            "version_has_open_issues",
            f"{waiting[0].id} ({waiting[0].title}) is open; finish it or plan it for another version.",
        )
    return version_row(tracker, tracker.versions.change(version, status="released", released=tracker.now.date()))
