"""Tools that create issues, link them, plan them in sprints and complete them."""

from __future__ import annotations

from datetime import timedelta

from ..core import ToolError
from .engine import (
    PARENTS,
    SIZED,
    WORKFLOWS,
    add_article,
    open_issue,
    own_issue,
    own_project,
    require_not_busy,
    require_room,
    require_same_project,
    require_sized,
    require_unblocked,
)
from .server import (
    Capacity,
    Estimate,
    IssueRef,
    Kind,
    Labels,
    LinkRef,
    NewPriority,
    NewResolution,
    NewStatus,
    NewVersion,
    NextSprint,
    OtherIssue,
    Parent,
    Points,
    ProjectRef,
    SprintName,
    SprintRef,
    Title,
    Type,
    VersionRef,
    Weeks,
    server,
)
from .state import (
    LABELS,
    Issue,
    IssueId,
    IssueStatus,
    Link,
    LinkKind,
    Resolution,
    SoftwareVersionId,
    Sprint,
    SprintId,
    Tracker,
)
from .views import IssueDetails, IssueLine, SprintRow, VersionRow, issue_details, issue_line, sprint_row, version_row

# Tools that create issues and edit their points, priority, labels and version.


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
    """Raise ToolError when the issue's parent is missing, done, or of a wrong type or project."""
    if issue.parent is None:
        if issue.type == "subtask":
            raise ToolError("parent_required", "A sub-task is part of a story, bug or task; give its parent.")
        return
    parent, allowed = tracker.issues[issue.parent], PARENTS[issue.type]
    if parent.type not in allowed:
        places = " or ".join(add_article(one) for one in allowed) or "nothing"
        raise ToolError(
            "wrong_parent",
            f"{parent.id} is {add_article(parent.type)}; {add_article(issue.type)} lies beneath {places}.",
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
    """Raise ToolError when an issue of this type has no points, or its active sprint has no room for `points`."""
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
    """Return the labels without duplicates. Raises ToolError for an unknown label."""
    for label in labels:
        if label not in LABELS:
            raise ToolError("no_such_label", f"There is no label {label}; use one of {', '.join(LABELS)}.")
    return tuple(dict.fromkeys(labels))


# Tools for links between issues: which one blocks, duplicates or relates to which.


@server.write(idempotent=True)
def link_issues(tracker: Tracker, issue: IssueRef, kind: Kind, other: OtherIssue) -> Link:
    """Link two issues: the first blocks, duplicates or relates to the other."""
    source, target = own_issue(tracker, issue), own_issue(tracker, other)
    if issue == other:
        raise ToolError("same_issue", "An issue is not linked to itself; name two different ones.")
    for one, another in ((issue, other), (other, issue)):
        found = tracker.links.where(source=one, target=another, kind=kind)
        if found and (one == issue or kind == "relates to"):
            raise ToolError("link_exists", f"{found[0].id} says so already; nothing is left to do.")
    if kind != "relates to" and leads_to(tracker, target.id, kind, source.id):
        raise ToolError(
            "link_would_cycle", f"{other} {kind} {issue} already, directly or through others; link them otherwise."
        )
    return tracker.links.put(Link(id=tracker.links.new_id(), source=source.id, kind=kind, target=target.id))


def leads_to(tracker: Tracker, start: IssueId, kind: LinkKind, goal: IssueId) -> bool:
    """Return whether links of a kind lead from one issue to another."""
    seen, waiting = {start: None}, [start]
    while waiting:
        for link in tracker.links.where(source=waiting.pop(), kind=kind):
            if link.target not in seen:
                seen[link.target] = None
                waiting.append(link.target)
    return goal in seen


@server.write(destructive=True, idempotent=True)
def remove_issue_link(tracker: Tracker, link: LinkRef) -> Link:
    """Remove a link, unless an issue was closed as a duplicate because of it."""
    row = tracker.links[link]
    source = own_issue(tracker, row.source)
    others = [one for one in tracker.links.where(source=source.id, kind="duplicates") if one.id != link]
    if source.resolution == "duplicate" and row.kind == "duplicates" and not others:
        raise ToolError("link_needed", f"{source.id} was closed as a duplicate because of {link}; reopen it first.")
    return tracker.links.remove(link)


# Tools for sprints: planning, filling, starting and closing them.

MOST_PLANNED = 4


def unfinished_sprint(tracker: Tracker, id: SprintId) -> Sprint:
    """Return the sprint. Raises ToolError when it is closed or in a project that the user is not a member of."""
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
    """Raise ToolError unless the open issues of a sprint can move to the sprint `id`."""
    other = unfinished_sprint(tracker, id)
    if other.project != sprint.project:
        raise ToolError("other_project", f"{other.name} is of another project; name a planned sprint of this one.")
    if other.status != "planned":
        raise ToolError("sprint_not_planned", f"{other.name} is {other.status}; name a planned sprint.")


# Tools that complete issues and versions: statuses, resolutions and releases.

DROPPED: tuple[Resolution, ...] = ("will not do", "duplicate", "not reproducible")


@server.write(idempotent=True)
def transition_issue(
    tracker: Tracker, issue: IssueRef, status: NewStatus, resolution: NewResolution = None
) -> IssueLine:
    """Move an issue along its workflow; done needs a resolution."""
    row = own_issue(tracker, issue)
    allowed = WORKFLOWS[row.type][row.status]
    if status not in allowed:
        statuses = join_with_or(allowed)
        raise ToolError("transition_not_allowed", f"{issue} is {row.status}; from there it goes to {statuses}.")
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


def join_with_or(statuses: tuple[IssueStatus, ...]) -> str:
    return " or ".join(statuses)


def require_startable(tracker: Tracker, issue: Issue) -> None:
    """Raise ToolError unless somebody can work on the issue now."""
    if issue.assignee is None:
        raise ToolError("assignee_required", f"Nobody is assigned to {issue.id}; assign it first.")
    require_unblocked(tracker, issue)
    require_not_busy(tracker, issue, issue.assignee)


def require_finished(tracker: Tracker, issue: Issue, resolution: Resolution | None) -> None:
    """Raise ToolError when the issue does not meet all conditions for being done."""
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
    """Clear a done issue's resolution and closed sprint. Raises ToolError if its version is released or parent done."""
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
