"""State of the issue tracker: projects with members, issues, links, sprints, versions, comments and work logs."""

from __future__ import annotations

from functools import cached_property
from typing import Literal, NewType

from ..core import Day, Entity, Minute, State, Table, table
from ..shared.people import EmailAddress, Person, cast

TrackerProjectId = NewType("TrackerProjectId", str)
IssueId = NewType("IssueId", str)
SprintId = NewType("SprintId", str)
SoftwareVersionId = NewType("SoftwareVersionId", str)
IssueLinkId = NewType("IssueLinkId", str)
IssueCommentId = NewType("IssueCommentId", str)
WorkLogId = NewType("WorkLogId", str)

IssueType = Literal["epic", "story", "bug", "task", "subtask"]
IssueStatus = Literal["to do", "in progress", "in review", "in test", "done"]
Priority = Literal["low", "medium", "high", "urgent"]
Resolution = Literal["fixed", "delivered", "will not do", "duplicate", "not reproducible"]
SprintStatus = Literal["planned", "active", "closed"]
VersionStatus = Literal["unreleased", "released"]
LinkKind = Literal["blocks", "relates to", "duplicates"]

LABELS = (
    "accessibility", "api", "backend", "billing", "customer", "database", "design", "docs", "frontend", "mobile",
    "performance", "regression", "security", "tests",
)  # fmt: skip
BY_INDEX = (
    "words", "watchers", "labels", "reporter", "assignee", "sprint", "version", "project", "type", "priority", "status"
)  # fmt: skip
"""Indexed fields that a search can use, the most selective first."""


class Project(Entity):
    """A project; only members change it. `wip_limit` is how many issues one person may have in progress."""

    __label__ = "the project {name}"
    id: TrackerProjectId
    key: str
    name: str
    lead: EmailAddress
    members: tuple[EmailAddress, ...]
    wip_limit: int


class Issue(Entity):
    """Something to be done. Points are its size; `logged` is the sum of its work logs in minutes.

    Stories, bugs and tasks may lie beneath an epic, sub-tasks lie beneath one of these. Only done ones are resolved.
    """

    __label__ = "the {type} {title}"
    id: IssueId
    project: TrackerProjectId
    type: IssueType
    title: str
    status: IssueStatus
    priority: Priority
    reporter: EmailAddress
    created: Minute
    assignee: EmailAddress | None = None
    resolution: Resolution | None = None
    points: int | None = None
    estimate: int | None = None
    logged: int = 0
    parent: IssueId | None = None
    sprint: SprintId | None = None
    version: SoftwareVersionId | None = None
    labels: tuple[str, ...] = ()
    watchers: tuple[EmailAddress, ...] = ()
    votes: tuple[EmailAddress, ...] = ()

    @cached_property
    def words(self) -> tuple[str, ...]:
        return words_of(self.title)

    @property
    def is_open(self) -> bool:
        return self.status != "done"

    @property
    def open_in(self) -> TrackerProjectId | tuple[()]:
        """Return the project of an open issue, or () for a done one."""
        return self.project if self.is_open else ()


class Sprint(Entity):
    """Some weeks of work; while it is active its issues have no more points than its capacity."""

    __label__ = "the sprint {name}"
    id: SprintId
    project: TrackerProjectId
    name: str
    capacity: int
    status: SprintStatus
    start: Day | None = None
    end: Day | None = None

    @property
    def called(self) -> tuple[str, str]:
        """Return the values that a search matches: the status and the lower-case name."""
        return self.status, self.name.casefold()


class Version(Entity):
    """A version of the product, which is released once all its issues are done."""

    __label__ = "the version {name}"
    id: SoftwareVersionId
    project: TrackerProjectId
    name: str
    status: VersionStatus
    due: Day
    released: Day | None = None

    @property
    def called(self) -> tuple[str, str]:
        """Return the values that a search matches: the status and the lower-case name."""
        return self.status, self.name.casefold()


class Link(Entity):
    """One issue blocks, duplicates or relates to another."""

    id: IssueLinkId
    source: IssueId
    kind: LinkKind
    target: IssueId


class Comment(Entity):
    """What somebody wrote about an issue."""

    id: IssueCommentId
    issue: IssueId
    author: EmailAddress
    at: Minute
    text: str


class WorkLog(Entity):
    """Minutes somebody worked on an issue."""

    id: WorkLogId
    issue: IssueId
    author: EmailAddress
    at: Minute
    minutes: int


class Tracker(State):
    """Everything in the issue tracker."""

    people: Table[EmailAddress, Person] = table("", "person")
    projects: Table[TrackerProjectId, Project] = table("TPRJ", "project", index=("key",))
    issues: Table[IssueId, Issue] = table(
        "ISS",
        "issue",
        index=(*BY_INDEX, "open_in", "parent"),
    )
    sprints: Table[SprintId, Sprint] = table("SPRT", "sprint", index=("project", "called"))
    versions: Table[SoftwareVersionId, Version] = table("SWVER", "version", index=("project", "called"))
    links: Table[IssueLinkId, Link] = table("ISLNK", "link", index=("source", "target", "kind"))
    comments: Table[IssueCommentId, Comment] = table("ISCMT", "comment", index=("issue",))
    work: Table[WorkLogId, WorkLog] = table("WLOG", "work log", index=("issue", "author"))

    @property
    def me(self) -> EmailAddress:
        """Return the user's e-mail address."""
        return cast(self.seed, 1)[0].id

    def name_of(self, person: EmailAddress | None) -> str | None:
        """Return the name of a person, "you" for the user, or None for nobody."""
        if person is None:
            return None
        return "you" if person == self.me else self.people[person].name

    def children(self, issue: IssueId) -> list[Issue]:
        return self.issues.where(parent=issue)

    def active_sprint(self, project: TrackerProjectId) -> Sprint | None:
        return next((row for row in self.sprints.where(project=project) if row.status == "active"), None)

    def points_in(self, sprint: SprintId) -> int:
        return sum(row.points or 0 for row in self.issues.where(sprint=sprint))

    def blockers(self, issue: IssueId) -> list[Issue]:
        """Return the open issues that block this one."""
        links = [row for row in self.links.where(target=issue) if row.kind == "blocks"]
        return [row for row in (self.issues[link.source] for link in links) if row.is_open]


def words_of(text: str) -> tuple[str, ...]:
    """Return the distinct words of a text in lower case."""
    return tuple(dict.fromkeys(text.casefold().split()))
