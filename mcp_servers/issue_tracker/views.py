"""What callers see of projects and issues: short rows in lists, everything about one."""

from __future__ import annotations

from ..kit import Day, Entity, Minute
from ..people import EmailAddress
from .state import (
    IssueCommentId,
    IssueId,
    IssueLinkId,
    IssueStatus,
    IssueType,
    Priority,
    Resolution,
    SoftwareVersionId,
    SprintId,
    SprintStatus,
    TrackerProjectId,
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
