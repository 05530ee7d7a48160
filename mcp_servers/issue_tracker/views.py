"""Views of projects and issues: short rows for lists, full details for one."""

from __future__ import annotations

from ..core import Day, Entity, Minute
from ..shared.people import EmailAddress
from .engine import WORKFLOWS
from .state import (
    Issue,
    IssueCommentId,
    IssueId,
    IssueLinkId,
    IssueStatus,
    IssueType,
    Link,
    Priority,
    Project,
    Resolution,
    SoftwareVersionId,
    Sprint,
    SprintId,
    SprintStatus,
    Tracker,
    TrackerProjectId,
    Version,
    VersionStatus,
)


class ProjectLine(Entity):
    """A project in a list."""

    __label__ = "the project {name}"
    id: TrackerProjectId
    key: str
    name: str
    open: int
    member: bool


class MemberRow(Entity):
    """A person of a project."""

    __label__ = "{name}"
    id: EmailAddress
    name: str


class SprintRow(Entity):
    """A sprint of a project; points are those of its issues."""

    __label__ = "the sprint {name}"
    id: SprintId
    name: str
    status: SprintStatus
    points: int
    capacity: int
    end: Day | None = None


class VersionRow(Entity):
    """A version of a project, and how many of its issues are open."""

    __label__ = "the version {name}"
    id: SoftwareVersionId
    name: str
    status: VersionStatus
    open: int
    due: Day


class ProjectDetails(Entity):
    """Everything about a project; of its closed sprints the latest only."""

    __label__ = "the project {name}"
    id: TrackerProjectId
    key: str
    name: str
    lead: EmailAddress
    wip_limit: int
    members: tuple[MemberRow, ...]
    sprints: tuple[SprintRow, ...]
    versions: tuple[VersionRow, ...]


class IssueLine(Entity):
    """An issue in a list."""

    __label__ = "the {type} {title}"
    id: IssueId
    type: IssueType
    title: str
    status: IssueStatus
    priority: Priority
    assignee: str | None = None


class LinkRow(Entity):
    """A link of an issue, told from its side: it blocks, is blocked by, duplicates, ... the other one."""

    __label__ = "the link to {title}"
    id: IssueLinkId
    kind: str
    issue: IssueId
    title: str


class CommentRow(Entity):
    """A comment on an issue."""

    id: IssueCommentId
    author: str
    at: Minute
    text: str


class IssueDetails(Entity):
    """Everything about an issue; `next` are the statuses it may move to, `beneath` open ones come first."""

    __label__ = "the {type} {title}"
    id: IssueId
    type: IssueType
    title: str
    status: IssueStatus
    next: tuple[IssueStatus, ...]
    priority: Priority
    project: TrackerProjectId
    reporter: str
    created: Minute
    watchers: int
    votes: int
    assignee: MemberRow | None = None
    resolution: Resolution | None = None
    points: int | None = None
    estimate: int | None = None
    logged: int | None = None
    parent: IssueId | None = None
    sprint: SprintId | None = None
    version: SoftwareVersionId | None = None
    labels: tuple[str, ...] | None = None
    beneath: tuple[IssueLine, ...] | None = None
    links: tuple[LinkRow, ...] | None = None
    comments: tuple[CommentRow, ...] | None = None


# Functions that turn projects, sprints, versions and issues of the state into views.

LISTED_COMMENTS = 3
LISTED_CHILDREN = 8


def project_line(tracker: Tracker, project: Project) -> ProjectLine:
    return ProjectLine.from_row(
        project, open=len(tracker.issues.where(open_in=project.id)), member=tracker.me in project.members
    )


def member_row(tracker: Tracker, person: EmailAddress) -> MemberRow:
    return MemberRow(id=person, name=tracker.people[person].name)


def sprint_row(tracker: Tracker, sprint: Sprint) -> SprintRow:
    return SprintRow.from_row(sprint, points=tracker.points_in(sprint.id))


def version_row(tracker: Tracker, version: Version) -> VersionRow:
    count = sum(row.is_open for row in tracker.issues.where(version=version.id))
    return VersionRow.from_row(version, open=count)


def project_details(tracker: Tracker, project: Project) -> ProjectDetails:
    sprints = tracker.sprints.where(project=project.id)
    closed = [row for row in sprints if row.status == "closed"]
    recent = [*closed[-1:], *(row for row in sprints if row.status != "closed")]
    versions = tracker.versions.where(project=project.id)
    released = [row for row in versions if row.status == "released"]
    offered = [*released[-1:], *(row for row in versions if row.status != "released")]
    return ProjectDetails.from_row(
        project,
        members=tuple(member_row(tracker, person) for person in project.members),
        sprints=tuple(sprint_row(tracker, row) for row in recent),
        versions=tuple(version_row(tracker, row) for row in offered),
    )


def issue_line(tracker: Tracker, issue: Issue) -> IssueLine:
    return IssueLine.from_row(issue, assignee=tracker.name_of(issue.assignee))


def link_row(tracker: Tracker, link: Link, seen_from: IssueId) -> LinkRow:
    """Return the link as seen from its source or its target."""
    backwards = {"blocks": "is blocked by", "duplicates": "is duplicated by", "relates to": "relates to"}
    outward = link.source == seen_from
    other = link.target if outward else link.source
    kind = link.kind if outward else backwards[link.kind]
    return LinkRow(id=link.id, kind=kind, issue=other, title=tracker.issues[other].title)


def issue_details(tracker: Tracker, issue: Issue) -> IssueDetails:
    links = [*tracker.links.where(source=issue.id), *tracker.links.where(target=issue.id)]
    beneath = sorted(tracker.children(issue.id), key=lambda row: not row.is_open)
    comments = tracker.comments.where(issue=issue.id)[-LISTED_COMMENTS:]
    return IssueDetails.from_row(
        issue,
        next=WORKFLOWS[issue.type][issue.status],
        reporter=tracker.name_of(issue.reporter) or "",
        watchers=len(issue.watchers),
        votes=len(issue.votes),
        assignee=member_row(tracker, issue.assignee) if issue.assignee else None,
        logged=issue.logged or None,
        labels=issue.labels or None,
        beneath=tuple(issue_line(tracker, row) for row in beneath[:LISTED_CHILDREN]) or None,
        links=tuple(link_row(tracker, link, issue.id) for link in links) or None,
        comments=tuple(CommentRow.from_row(row, author=tracker.name_of(row.author) or "") for row in comments) or None,
    )
