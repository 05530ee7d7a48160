"""Invariants of the issue tracker: they hold in every state that a session can reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from .engine import PARENTS, SIZED, WORKFLOWS
from .server import server
from .state import LABELS, LinkKind, Tracker
from .tools_browse import MOST_A_DAY


@server.invariant
def blocks_and_duplicates_have_no_cycle(tracker: Tracker) -> bool:
    """No issue blocks or duplicates itself, not even through others."""
    return acyclic(tracker, "blocks") and acyclic(tracker, "duplicates")


def acyclic(tracker: Tracker, kind: LinkKind) -> bool:
    """Return whether links of a kind form no cycle: removing issues that nothing points at ends with none."""
    links = [link for link in tracker.links if link.kind == kind]
    while links:
        targets = dict.fromkeys(link.target for link in links)
        left = [link for link in links if link.source in targets]
        if len(left) == len(links):
            return False
        links = left
    return True


@server.invariant
def links_are_told_once(tracker: Tracker) -> bool:
    """A link is between two different issues, and none says the same as another."""
    keys = [
        (link.kind, *(sorted((link.source, link.target)) if link.kind == "relates to" else (link.source, link.target)))
        for link in tracker.links
    ]
    return different(keys) and all(
        link.source != link.target and link.source in tracker.issues and link.target in tracker.issues
        for link in tracker.links
    )


@server.invariant
def a_project_has_one_active_sprint_at_most(tracker: Tracker) -> bool:
    """A project has at most one active sprint, and started sprints have a start and an end."""
    active = [row.project for row in tracker.sprints if row.status == "active"]
    return different(active) and all(
        (row.status != "planned") == (row.start is not None and row.end is not None) for row in tracker.sprints
    )


@server.invariant
def active_sprints_keep_to_their_capacity(tracker: Tracker) -> bool:
    """The issues of an active sprint have no more points than it can hold."""
    return all(tracker.points_in(row.id) <= row.capacity for row in tracker.sprints if row.status == "active")


@server.invariant
def closed_sprints_hold_only_what_is_done(tracker: Tracker) -> bool:
    """Issues that were not done when a sprint closed are no longer in it."""
    closed = [row.id for row in tracker.sprints if row.status == "closed"]
    return all(not issue.is_open for id in closed for issue in tracker.issues.where(sprint=id))


@server.invariant
def sprints_and_versions_are_of_the_same_project(tracker: Tracker) -> bool:
    """Only stories, bugs and tasks have points, and those with points are in sprints, all within their project."""
    for issue in tracker.issues:
        sprint = tracker.sprints[issue.sprint] if issue.sprint else None
        version = tracker.versions[issue.version] if issue.version else None
        if issue.points is not None and issue.type not in SIZED:
            return False
        if sprint and (sprint.project != issue.project or issue.points is None):
            return False
        if version and version.project != issue.project:
            return False
    return True


@server.invariant
def work_logged_equals_its_entries(tracker: Tracker) -> bool:
    """The minutes of an issue are the sum of its work logs, of which an epic has none."""
    sums = Counter[str]()
    for log in tracker.work:
        sums[log.issue] += log.minutes
    return all(issue.logged == sums.pop(issue.id, 0) for issue in tracker.issues) and not sums


@server.invariant
def nobody_works_more_than_ten_hours_a_day(tracker: Tracker) -> bool:
    """On no day did a person log more than 600 minutes; each entry is of some time already past."""
    sums = Counter[tuple[str, str]]()
    for log in tracker.work:
        sums[log.author, log.at.date().isoformat()] += log.minutes
    return all(minutes <= MOST_A_DAY for minutes in sums.values()) and all(
        log.minutes > 0 and tracker.issues[log.issue].created <= log.at <= tracker.now for log in tracker.work
    )


@server.invariant
def done_issues_are_resolved_all_the_way_down(tracker: Tracker) -> bool:
    """Done issues, and only they, have a resolution, and nothing beneath them is open; duplicates are linked."""
    for issue in tracker.issues:
        if (issue.status == "done") != (issue.resolution is not None):
            return False
        if not issue.is_open and any(row.is_open for row in tracker.children(issue.id)):
            return False
        if issue.resolution == "duplicate" and not tracker.links.where(source=issue.id, kind="duplicates"):
            return False
    return True


@server.invariant
def released_versions_hold_only_what_is_done(tracker: Tracker) -> bool:
    """A released version, and no other, has its day, and all its issues are done."""
    return all((row.status == "released") == (row.released is not None) for row in tracker.versions) and all(
        not issue.is_open
        for row in tracker.versions
        if row.status == "released"
        for issue in tracker.issues.where(version=row.id)
    )


@server.invariant
def issues_lie_beneath_what_can_hold_them(tracker: Tracker) -> bool:
    """Sub-tasks have a parent, epics have none, and a parent is of the right type and the same project."""
    for issue in tracker.issues:
        parent = tracker.issues[issue.parent] if issue.parent else None
        if parent and (parent.type not in PARENTS[issue.type] or parent.project != issue.project):
            return False
        if issue.type == "subtask" and parent is None:
            return False
        if issue.status not in WORKFLOWS[issue.type]:
            return False
    return True


@server.invariant
def nobody_has_more_in_progress_than_allowed(tracker: Tracker) -> bool:
    """Issues in progress have an assignee, and no one has more of them in a project than it allows."""
    doing = [(row.project, row.assignee) for row in tracker.issues if row.status == "in progress"]
    return all(
        assignee is not None and count <= tracker.projects[project].wip_limit
        for (project, assignee), count in Counter(doing).items()
    )


@server.invariant
def only_members_take_part(tracker: Tracker) -> bool:
    """Assignees and voters are members, nobody votes for his own issue, nor watches or votes twice."""
    for issue in tracker.issues:
        members = tracker.projects[issue.project].members
        if issue.assignee is not None and issue.assignee not in members:
            return False
        if not set(issue.votes) <= set(members) or issue.reporter in issue.votes:
            return False
        if not (different(issue.votes) and different(issue.watchers) and different(issue.labels)):
            return False
        if not set(issue.labels) <= set(LABELS):
            return False
    return all(
        row.author in tracker.people and tracker.issues[row.issue].created <= row.at <= tracker.now
        for row in tracker.comments
    )


def different(values: Iterable[Any]) -> bool:
    """Return whether no value occurs twice."""
    rows = list(values)
    return len(dict.fromkeys(rows)) == len(rows)
