"""What the issue tracker does and refuses, checked through its own tools in one small world."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from calling import do, refused, small_worlds

from mcp_servers.core import Session
from mcp_servers.issue_tracker import server
from mcp_servers.issue_tracker.state import Issue, Project, Sprint, Tracker


@pytest.fixture
def tracker() -> Session[Tracker]:
    """A world in which the user is a member of two projects, with two colleagues to spare in the first."""
    return next(session for session in worlds() if len(own_projects(session)) == 2 and len(idle(session)) > 1)


def worlds(size: str = "small") -> Iterator[Session[Tracker]]:
    return small_worlds(server, size)


def own_projects(session: Session[Tracker]) -> list[Project]:
    return [row for row in session.state.projects if session.state.me in row.members]


def project(session: Session[Tracker]) -> str:
    return own_projects(session)[0].id


def idle(session: Session[Tracker]) -> list[str]:
    """The other members of the first project who have nothing in progress."""
    state, members = session.state, own_projects(session)[0].members
    return [one for one in members if one != state.me and not state.issues.where(assignee=one, status="in progress")]


def colleague(session: Session[Tracker]) -> str:
    return idle(session)[0]


def created(session: Session[Tracker], type: str = "task", **more: Any) -> str:
    made = do(session, "create_issue", project=project(session), type=type, title=f"new {type}", **more)
    return str(made["id"])


def begun(session: Session[Tracker], type: str = "task", **more: Any) -> str:
    """A new issue that a colleague has in progress."""
    issue = created(session, type, **more)
    do(session, "assign_issue", issue=issue, assignee=colleague(session))
    do(session, "transition_issue", issue=issue, status="in progress")
    return issue


def finish(session: Session[Tracker], issue: str, resolution: str = "delivered") -> Any:
    return do(session, "transition_issue", issue=issue, status="done", resolution=resolution)


def sprint(session: Session[Tracker], status: str) -> Sprint:
    rows = session.state.sprints.where(project=project(session))
    return next(row for row in rows if row.status == status)


def new_sprint(session: Session[Tracker], name: str = "Bug hunt", capacity: int = 10) -> str:
    return str(do(session, "create_sprint", project=project(session), name=name, capacity=capacity)["id"])


def version(session: Session[Tracker], status: str, place: int = 0) -> str:
    rows = session.state.versions.where(project=project(session))
    return str([row for row in rows if row.status == status][place].id)


def foreign(session: Session[Tracker]) -> Issue:
    """An issue of a project that the user is no member of."""
    mine = [row.id for row in own_projects(session)]
    return next(row for row in session.state.issues if row.project not in mine and row.is_open)


def found(session: Session[Tracker], query: str) -> set[str]:
    return {row["id"] for row in do(session, "search_issues", query=query, limit=50)}


def test_an_issue_goes_from_report_through_a_sprint_into_a_release(tracker: Session[Tracker]) -> None:
    do(tracker, "close_sprint", sprint=sprint(tracker, "active").id)
    story = created(tracker, "story")
    do(tracker, "edit_issue", issue=story, points=5, version=version(tracker, "unreleased", 1))
    quick = new_sprint(tracker, capacity=5)
    assert do(tracker, "add_to_sprint", issue=story, sprint=quick)["points"] == 5
    started = do(tracker, "start_sprint", sprint=quick, weeks=3)
    assert (started["status"], started["end"]) == ("active", f"{tracker.state.now.date() + timedelta(weeks=3)}")
    do(tracker, "assign_issue", issue=story, assignee=colleague(tracker))
    for status in ("in progress", "in review"):
        assert do(tracker, "transition_issue", issue=story, status=status)["status"] == status
    assert do(tracker, "view_sprint_board", project=project(tracker))["done"] == 0
    finish(tracker, story)
    board = do(tracker, "view_sprint_board", project=project(tracker))
    assert (board["id"], board["name"], board["points"], board["done"]) == (quick, "Bug hunt", 5, 5)
    assert board["capacity"] == 5
    assert [column["count"] for column in board["columns"]] == [0, 0, 0, 1, 0]
    assert do(tracker, "close_sprint", sprint=quick)["status"] == "closed"
    assert tracker.state.issues[story].sprint == quick


def test_projects_tell_their_members_sprints_and_versions(tracker: Session[Tracker]) -> None:
    rows = do(tracker, "list_tracker_projects")
    assert [row["id"] for row in rows] == [row.id for row in tracker.state.projects]
    first = own_projects(tracker)[0]
    assert (rows[0]["key"], rows[0]["name"], rows[0]["member"]) == (first.key, first.name, True)
    assert rows[0]["open"] == len([row for row in tracker.state.issues.where(project=rows[0]["id"]) if row.is_open])
    assert len(do(tracker, "list_tracker_projects", limit=1)) == 1
    seen = do(tracker, "get_tracker_project", project=project(tracker))
    assert (seen["key"], seen["name"], seen["lead"]) == (first.key, first.name, first.lead)
    assert [row["id"] for row in seen["members"]] == list(own_projects(tracker)[0].members)
    assert [row["status"] for row in seen["sprints"]] == ["closed", "active", "planned"]
    assert [row["status"] for row in seen["versions"]] == ["released", "unreleased", "unreleased"]
    active = sprint(tracker, "active")
    points = sum(row.points or 0 for row in tracker.state.issues.where(sprint=active.id))
    assert (seen["sprints"][1]["points"], seen["sprints"][1]["capacity"]) == (points, active.capacity)


def test_who_is_no_member_only_reads() -> None:
    session = next(session for session in worlds() if len(own_projects(session)) == 1)
    issue = foreign(session)
    do(session, "get_issue", issue=issue.id)
    for tool, arguments in {
        "edit_issue": {"priority": "low"},
        "assign_issue": {"assignee": session.state.me},
        "transition_issue": {"status": "done", "resolution": "fixed"},
        "watch_issue": {},
        "vote_for_issue": {},
        "comment_on_issue": {"text": "hello"},
        "log_work": {"minutes": 5},
        "link_issues": {"kind": "blocks", "other": created(session)},
    }.items():
        assert refused(session, tool, issue=issue.id, **arguments) == "not_a_member"
    new = {"project": issue.project, "type": "task", "title": "add a dark theme"}
    assert refused(session, "create_issue", **new) == "not_a_member"
    assert refused(session, "create_sprint", project=issue.project, name="Bug hunt", capacity=9) == "not_a_member"
    one = next(row for row in session.state.sprints.where(project=issue.project))
    assert refused(session, "start_sprint", sprint=one.id) == "not_a_member"
    assert refused(session, "close_sprint", sprint=one.id) == "not_a_member"
    [first, *_] = session.state.versions.where(project=issue.project)
    assert refused(session, "release_version", version=first.id) == "not_a_member"


def test_a_new_issue_is_to_do_reported_and_watched_by_the_user(tracker: Session[Tracker]) -> None:
    seen = do(tracker, "get_issue", issue=created(tracker, "bug", priority="urgent", points=3))
    assert (seen["status"], seen["priority"], seen["points"], seen["reporter"]) == ("to do", "urgent", 3, "you")
    assert (seen["watchers"], seen["votes"], seen["next"]) == (1, 0, ["in progress", "done"])
    assert "assignee" not in seen and "links" not in seen and "logged" not in seen
    assert do(tracker, "get_issue", issue=created(tracker))["priority"] == "medium"


def test_issues_lie_beneath_what_can_hold_them(tracker: Session[Tracker]) -> None:
    new = {"project": project(tracker), "title": "add a dark theme"}
    epic, story = created(tracker, "epic"), created(tracker, "story")
    assert refused(tracker, "create_issue", **new, type="subtask") == "parent_required"
    assert refused(tracker, "create_issue", **new, type="subtask", parent=epic) == "wrong_parent"
    assert refused(tracker, "create_issue", **new, type="epic", parent=epic) == "wrong_parent"
    assert refused(tracker, "create_issue", **new, type="bug", parent=story) == "wrong_parent"
    assert refused(tracker, "create_issue", **new, type="epic", points=3) == "not_sized"
    assert refused(tracker, "create_issue", **new, type="subtask", parent=story, points=3) == "not_sized"
    other = {**new, "project": own_projects(tracker)[1].id, "type": "bug"}
    assert refused(tracker, "create_issue", **other, parent=epic) == "other_project"
    bug, part = created(tracker, "bug", parent=epic), created(tracker, "subtask", parent=story)
    assert [row["id"] for row in do(tracker, "get_issue", issue=epic)["beneath"]] == [bug]
    assert do(tracker, "get_issue", issue=part)["parent"] == story


def test_nothing_is_done_while_something_beneath_it_is_open(tracker: Session[Tracker]) -> None:
    story = created(tracker, "story")
    part = created(tracker, "subtask", parent=story)
    done = {"status": "done", "resolution": "delivered"}
    assert refused(tracker, "transition_issue", issue=story, **done) == "open_subtasks"
    finish(tracker, part)
    finish(tracker, story)
    assert refused(tracker, "transition_issue", issue=part, status="to do") == "parent_done"
    new = {"project": project(tracker), "type": "subtask", "title": "add a dark theme", "parent": story}
    assert refused(tracker, "create_issue", **new) == "parent_done"
    do(tracker, "transition_issue", issue=story, status="to do")
    do(tracker, "transition_issue", issue=part, status="to do")


@pytest.mark.parametrize(
    ("type", "path"),
    [
        ("task", ("in progress", "done")),
        ("epic", ("in progress", "done")),
        ("story", ("in progress", "in review", "in progress", "in review", "done")),
        ("bug", ("in progress", "in review", "in test", "in progress", "in review", "in test", "done")),
    ],
)
def test_each_type_has_its_workflow(tracker: Session[Tracker], type: str, path: tuple[str, ...]) -> None:
    issue = created(tracker, type)
    do(tracker, "assign_issue", issue=issue, assignee=colleague(tracker))
    for status in path:
        seen = do(tracker, "get_issue", issue=issue)
        for other in ("to do", "in progress", "in review", "in test", "done"):
            if other not in seen["next"]:
                assert refused(tracker, "transition_issue", issue=issue, status=other) == "transition_not_allowed"
        resolution = {"resolution": "fixed"} if status == "done" else {}
        do(tracker, "transition_issue", issue=issue, status=status, **resolution)
    assert do(tracker, "get_issue", issue=issue)["next"] == ["to do"]


def test_done_needs_a_resolution_and_nothing_else_has_one(tracker: Session[Tracker]) -> None:
    issue = begun(tracker)
    assert refused(tracker, "transition_issue", issue=issue, status="done") == "resolution_required"
    back = {"status": "to do", "resolution": "fixed"}
    assert refused(tracker, "transition_issue", issue=issue, **back) == "resolution_not_allowed"
    finish(tracker, issue)
    assert do(tracker, "get_issue", issue=issue)["resolution"] == "delivered"
    do(tracker, "transition_issue", issue=issue, status="to do")
    assert "resolution" not in do(tracker, "get_issue", issue=issue)


def test_a_duplicate_is_linked_and_stays_so(tracker: Session[Tracker]) -> None:
    issue, other = created(tracker), created(tracker, "bug")
    duplicate = {"issue": issue, "status": "done", "resolution": "duplicate"}
    related = do(tracker, "link_issues", issue=issue, kind="relates to", other=other)["id"]
    assert refused(tracker, "transition_issue", **duplicate) == "duplicate_link_required"
    link = do(tracker, "link_issues", issue=issue, kind="duplicates", other=other)["id"]
    do(tracker, "transition_issue", **duplicate)
    assert refused(tracker, "remove_issue_link", link=link) == "link_needed"
    do(tracker, "remove_issue_link", link=related)
    second = do(tracker, "link_issues", issue=issue, kind="duplicates", other=created(tracker))["id"]
    do(tracker, "remove_issue_link", link=second)
    do(tracker, "transition_issue", issue=issue, status="to do")
    do(tracker, "remove_issue_link", link=link)


def test_a_blocked_issue_waits_but_may_be_given_up(tracker: Session[Tracker]) -> None:
    issue, blocker = created(tracker), created(tracker, "bug")
    do(tracker, "assign_issue", issue=issue, assignee=colleague(tracker))
    do(tracker, "link_issues", issue=blocker, kind="blocks", other=issue)
    assert issue in found(tracker, "is:blocked") and blocker not in found(tracker, "is:blocked")
    assert refused(tracker, "transition_issue", issue=issue, status="in progress") == "blocked_by_open_issue"
    done = {"issue": issue, "status": "done"}
    assert refused(tracker, "transition_issue", **done, resolution="delivered") == "blocked_by_open_issue"
    assert tracker.fork().call("transition_issue", {**done, "resolution": "will not do"}).ok
    finish(tracker, blocker, "fixed")
    assert issue not in found(tracker, "is:blocked")
    do(tracker, "transition_issue", issue=issue, status="in progress")


def test_links_are_listed_from_both_sides_and_once(tracker: Session[Tracker]) -> None:
    one, two = created(tracker), created(tracker, "bug")
    link = {"issue": one, "kind": "blocks", "other": two}
    made = do(tracker, "link_issues", **link)
    assert made == {"id": made["id"], "source": one, "kind": "blocks", "target": two}
    assert refused(tracker, "link_issues", **link) == "link_exists"
    assert refused(tracker, "link_issues", issue=one, kind="blocks", other=one) == "same_issue"
    related = do(tracker, "link_issues", issue=one, kind="relates to", other=two)["id"]
    assert refused(tracker, "link_issues", issue=two, kind="relates to", other=one) == "link_exists"
    assert do(tracker, "get_issue", issue=two)["links"] == [
        {"id": made["id"], "kind": "is blocked by", "issue": one, "title": "new task"},
        {"id": related, "kind": "relates to", "issue": one, "title": "new task"},
    ]
    assert [row["kind"] for row in do(tracker, "get_issue", issue=one)["links"]] == ["blocks", "relates to"]
    do(tracker, "remove_issue_link", link=made["id"])
    assert refused(tracker, "remove_issue_link", link=made["id"]) == "not_found"
    assert [row["id"] for row in do(tracker, "get_issue", issue=one)["links"]] == [related]


@pytest.mark.parametrize("kind", ["blocks", "duplicates"])
def test_links_never_go_round_in_a_circle(tracker: Session[Tracker], kind: str) -> None:
    one, two, three = (created(tracker) for _ in range(3))
    do(tracker, "link_issues", issue=one, kind=kind, other=two)
    assert refused(tracker, "link_issues", issue=two, kind=kind, other=one) == "link_would_cycle"
    do(tracker, "link_issues", issue=two, kind=kind, other=three)
    assert refused(tracker, "link_issues", issue=three, kind=kind, other=one) == "link_would_cycle"
    do(tracker, "link_issues", issue=three, kind="relates to", other=one)
    do(tracker, "link_issues", issue=one, kind=kind, other=three)


def test_an_issue_is_assigned_to_members_who_then_watch_it(tracker: Session[Tracker]) -> None:
    issue, person = created(tracker), colleague(tracker)
    assert refused(tracker, "transition_issue", issue=issue, status="in progress") == "assignee_required"
    stranger = next(row.id for row in tracker.state.people if row.id not in own_projects(tracker)[0].members)
    assert refused(tracker, "assign_issue", issue=issue, assignee=stranger) == "not_a_member"
    assert do(tracker, "assign_issue", issue=issue, assignee=person)["assignee"] == tracker.state.people[person].name
    assert refused(tracker, "assign_issue", issue=issue, assignee=person) == "already_assigned"
    seen = do(tracker, "get_issue", issue=issue)
    assert seen["watchers"] == 2 and seen["assignee"]["id"] == person
    assert do(tracker, "assign_issue", issue=issue, assignee=tracker.state.me)["assignee"] == "you"
    assert do(tracker, "get_issue", issue=issue)["watchers"] == 2
    finish(tracker, issue)
    assert refused(tracker, "assign_issue", issue=issue, assignee=person) == "issue_done"


def test_nobody_has_more_in_progress_than_the_project_allows(tracker: Session[Tracker]) -> None:
    person, most = colleague(tracker), own_projects(tracker)[0].wip_limit
    issues = [created(tracker) for _ in range(most + 1)]
    for issue in issues:
        do(tracker, "assign_issue", issue=issue, assignee=person)
    for issue in issues[:-1]:
        do(tracker, "transition_issue", issue=issue, status="in progress")
    last = issues[-1]
    assert refused(tracker, "transition_issue", issue=last, status="in progress") == "wip_limit"
    other = begun(tracker)
    assert refused(tracker, "assign_issue", issue=other, assignee=person) == "wip_limit"
    do(tracker, "transition_issue", issue=issues[0], status="to do")
    do(tracker, "assign_issue", issue=other, assignee=person)
    assert refused(tracker, "transition_issue", issue=last, status="in progress") == "wip_limit"


def test_an_edit_changes_what_is_given_and_nothing_else(tracker: Session[Tracker]) -> None:
    issue, coming = created(tracker, "story", points=3), version(tracker, "unreleased")
    assert refused(tracker, "edit_issue", issue=issue) == "nothing_to_change"
    changed = {"priority": "high", "points": 8, "estimate": 120, "labels": ["api", "docs", "api"], "version": coming}
    seen = do(tracker, "edit_issue", issue=issue, **changed)
    assert {name: seen[name] for name in changed} == {**changed, "labels": ["api", "docs"]}
    for name, value in {"priority": "low", "points": 5, "estimate": 60, "labels": ["tests"]}.items():
        seen = {**seen, name: value}
        assert do(tracker, "edit_issue", issue=issue, **{name: value}) == seen
    assert "labels" not in do(tracker, "edit_issue", issue=issue, labels=[])
    assert refused(tracker, "edit_issue", issue=issue, labels=["nonsense"]) == "no_such_label"
    assert refused(tracker, "edit_issue", issue=created(tracker, "epic"), points=3) == "not_sized"
    finish(tracker, issue)
    assert refused(tracker, "edit_issue", issue=issue, priority="low") == "issue_done"


def test_an_issue_is_planned_for_an_unreleased_version_of_its_project(tracker: Session[Tracker]) -> None:
    issue = created(tracker)
    assert refused(tracker, "edit_issue", issue=issue, version=version(tracker, "released")) == "version_released"
    other = tracker.state.versions.where(project=own_projects(tracker)[1].id)[-1].id
    assert refused(tracker, "edit_issue", issue=issue, version=other) == "other_project"


def test_a_version_is_released_once_when_all_its_issues_are_done(tracker: Session[Tracker]) -> None:
    issue = created(tracker)
    coming = version(tracker, "unreleased")
    do(tracker, "edit_issue", issue=issue, version=coming)
    assert refused(tracker, "release_version", version=coming) == "version_has_open_issues"
    finish(tracker, issue)
    released = do(tracker, "release_version", version=coming)
    assert (released["status"], released["open"]) == ("released", 0)
    assert (released["id"], released["name"]) == (coming, tracker.state.versions[coming].name)
    assert tracker.state.versions[coming].released == tracker.state.now.date()
    assert refused(tracker, "release_version", version=coming) == "version_released"
    assert refused(tracker, "transition_issue", issue=issue, status="to do") == "version_released"


def test_an_empty_version_is_not_released() -> None:
    session, empty = next(
        (session, row)
        for session in worlds()
        for row in session.state.versions.where(project=project(session))
        if row.status == "unreleased" and not session.state.issues.where(version=row.id)
    )
    assert refused(session, "release_version", version=empty.id) == "version_empty"


def test_one_watches_and_votes_once_and_not_for_oneself(tracker: Session[Tracker]) -> None:
    issue = created(tracker)
    assert refused(tracker, "watch_issue", issue=issue) == "already_watching"
    assert refused(tracker, "vote_for_issue", issue=issue) == "own_vote"
    me = tracker.state.me
    other = next(
        row
        for row in tracker.state.issues.where(project=project(tracker))
        if me not in (*row.watchers, *row.votes, row.reporter) and row.is_open
    )
    voted = do(tracker, "vote_for_issue", issue=other.id)
    assert (voted["id"], voted["title"]) == (other.id, other.title)
    assert (voted["votes"], voted["watchers"]) == (len(other.votes) + 1, len(other.watchers))
    assert refused(tracker, "vote_for_issue", issue=other.id) == "already_voted"
    assert do(tracker, "watch_issue", issue=other.id)["watchers"] == len(other.watchers) + 1
    assert refused(tracker, "watch_issue", issue=other.id) == "already_watching"
    assert other.id in found(tracker, "is:watched")


def test_nobody_votes_for_what_is_done() -> None:
    session, done = next(
        (session, row)
        for session in worlds()
        for row in session.state.issues.where(project=project(session), status="done")
        if session.state.me not in (row.reporter, *row.votes)
    )
    assert refused(session, "vote_for_issue", issue=done.id) == "issue_done"


def test_comments_are_listed_latest_last_and_make_one_watch(tracker: Session[Tracker]) -> None:
    me = tracker.state.me
    issue = next(row for row in tracker.state.issues.where(project=project(tracker)) if me not in row.watchers)
    for number in range(4):
        do(tracker, "comment_on_issue", issue=issue.id, text=f"remark {number}")
    seen = do(tracker, "get_issue", issue=issue.id)
    assert [(row["author"], row["text"]) for row in seen["comments"]] == [("you", f"remark {n}") for n in (1, 2, 3)]
    assert seen["watchers"] == len(issue.watchers) + 1


def test_work_adds_up_within_the_day_and_the_estimate(tracker: Session[Tracker]) -> None:
    issue = created(tracker, "story")
    assert refused(tracker, "log_work", issue=issue, minutes=30) == "not_started"
    assert refused(tracker, "log_work", issue=created(tracker, "epic"), minutes=30) == "epic_has_no_work"
    do(tracker, "assign_issue", issue=issue, assignee=colleague(tracker))
    do(tracker, "transition_issue", issue=issue, status="in progress")
    assert "left" not in do(tracker, "log_work", issue=issue, minutes=30)
    do(tracker, "edit_issue", issue=issue, estimate=60)
    second = do(tracker, "log_work", issue=issue, minutes=20)
    assert (second["issue"], second["minutes"], second["logged"], second["left"]) == (issue, 20, 50, 10)
    assert do(tracker, "log_work", issue=issue, minutes=40)["left"] == 0
    assert do(tracker, "get_issue", issue=issue)["logged"] == 90
    assert refused(tracker, "log_work", issue=issue, minutes=511) == "day_full"
    do(tracker, "log_work", issue=issue, minutes=510)
    assert refused(tracker, "log_work", issue=issue, minutes=1) == "day_full"
    tomorrow = tracker.state.now + timedelta(days=1)
    assert tracker.call("log_work", {"issue": issue, "minutes": 600}, now=tomorrow).ok
    do(tracker, "transition_issue", issue=issue, status="in review")
    finish(tracker, issue)
    assert refused(tracker, "log_work", issue=issue, minutes=1) == "issue_done"


def test_a_sprint_has_a_name_of_its_own_and_four_are_planned_at_most(tracker: Session[Tracker]) -> None:
    made = do(tracker, "create_sprint", project=project(tracker), name="Bug hunt", capacity=12)
    assert (made["status"], made["points"], made["capacity"]) == ("planned", 0, 12)
    again = {"project": project(tracker), "name": "BUG hunt", "capacity": 9}
    assert refused(tracker, "create_sprint", **again) == "sprint_exists"
    new_sprint(tracker, "Big search")
    new_sprint(tracker, "Green build")
    assert refused(tracker, "create_sprint", **{**again, "name": "Foundation"}) == "too_many_sprints"
    do(tracker, "create_sprint", **{**again, "project": own_projects(tracker)[1].id})


def test_only_sized_open_issues_of_the_project_are_planned(tracker: Session[Tracker]) -> None:
    planned, closed = sprint(tracker, "planned").id, sprint(tracker, "closed").id
    task = created(tracker, points=2)
    assert refused(tracker, "add_to_sprint", issue=task, sprint=closed) == "sprint_closed"
    other = tracker.state.sprints.where(project=own_projects(tracker)[1].id)[-1].id
    assert refused(tracker, "add_to_sprint", issue=task, sprint=other) == "other_project"
    assert refused(tracker, "add_to_sprint", issue=created(tracker, "epic"), sprint=planned) == "not_plannable"
    part = created(tracker, "subtask", parent=task)
    assert refused(tracker, "add_to_sprint", issue=part, sprint=planned) == "not_plannable"
    assert refused(tracker, "add_to_sprint", issue=created(tracker), sprint=planned) == "points_required"
    do(tracker, "add_to_sprint", issue=task, sprint=planned)
    assert refused(tracker, "add_to_sprint", issue=task, sprint=planned) == "already_in_sprint"
    finish(tracker, part)
    finish(tracker, task)
    assert refused(tracker, "add_to_sprint", issue=task, sprint=new_sprint(tracker)) == "issue_done"


def test_an_active_sprint_keeps_to_its_capacity(tracker: Session[Tracker]) -> None:
    do(tracker, "close_sprint", sprint=sprint(tracker, "active").id)
    quick, first = new_sprint(tracker, capacity=5), created(tracker, points=3)
    do(tracker, "add_to_sprint", issue=first, sprint=quick)
    second = created(tracker, points=3)
    do(tracker, "add_to_sprint", issue=second, sprint=quick)
    assert refused(tracker, "start_sprint", sprint=quick) == "sprint_over_capacity"
    do(tracker, "edit_issue", issue=second, points=2)
    do(tracker, "start_sprint", sprint=quick)
    assert refused(tracker, "edit_issue", issue=first, points=4) == "sprint_over_capacity"
    assert refused(tracker, "add_to_sprint", issue=created(tracker, points=1), sprint=quick) == "sprint_over_capacity"
    do(tracker, "edit_issue", issue=first, points=2)
    do(tracker, "add_to_sprint", issue=created(tracker, points=1), sprint=quick)


def test_one_sprint_at_a_time_is_started_and_closed(tracker: Session[Tracker]) -> None:
    active, planned = sprint(tracker, "active"), sprint(tracker, "planned")
    assert refused(tracker, "start_sprint", sprint=active.id) == "sprint_active"
    assert refused(tracker, "start_sprint", sprint=planned.id) == "another_sprint_active"
    assert refused(tracker, "close_sprint", sprint=planned.id) == "sprint_not_active"
    do(tracker, "close_sprint", sprint=active.id)
    assert tracker.state.sprints[active.id].end == tracker.state.now.date()
    for tool in ("start_sprint", "close_sprint"):
        assert refused(tracker, tool, sprint=active.id) == "sprint_closed"
    assert refused(tracker, "view_sprint_board", project=project(tracker)) == "no_active_sprint"
    assert refused(tracker, "start_sprint", sprint=new_sprint(tracker)) == "sprint_empty"
    assert do(tracker, "start_sprint", sprint=planned.id)["end"] == f"{tracker.state.now.date() + timedelta(weeks=2)}"


def test_what_a_closing_sprint_leaves_open_goes_on(tracker: Session[Tracker]) -> None:
    planned, closed = sprint(tracker, "planned").id, sprint(tracker, "closed").id
    do(tracker, "close_sprint", sprint=sprint(tracker, "active").id)
    current, open_one, done = new_sprint(tracker), created(tracker, points=1), created(tracker, points=2)
    for issue in (open_one, done):
        do(tracker, "add_to_sprint", issue=issue, sprint=current)
    finish(tracker, done)
    do(tracker, "start_sprint", sprint=current)
    other = next(
        row for row in tracker.state.sprints.where(project=own_projects(tracker)[1].id) if row.status == "planned"
    )
    for goal, code in {current: "sprint_not_planned", closed: "sprint_closed", other.id: "other_project"}.items():
        assert refused(tracker, "close_sprint", sprint=current, next_sprint=goal) == code
    fork = tracker.fork()
    do(fork, "close_sprint", sprint=current)
    do(tracker, "close_sprint", sprint=current, next_sprint=planned)
    assert [tracker.state.issues[id].sprint for id in (open_one, done)] == [planned, current]
    assert [fork.state.issues[id].sprint for id in (open_one, done)] == [None, current]


def test_a_reopened_issue_leaves_its_closed_sprint_but_no_other(tracker: Session[Tracker]) -> None:
    planned, closed = sprint(tracker, "planned").id, sprint(tracker, "closed").id
    old, new = tracker.state.issues.where(sprint=closed)[0].id, created(tracker, points=1)
    do(tracker, "add_to_sprint", issue=new, sprint=planned)
    finish(tracker, new)
    for issue, expected in ((old, None), (new, planned)):
        do(tracker, "transition_issue", issue=issue, status="to do")
        assert tracker.state.issues[issue].sprint == expected


def test_a_board_shows_each_status_with_its_first_issues() -> None:
    session = server.open(3, "default")
    board = do(session, "view_sprint_board", project=project(session), limit=1)
    rows = session.state.issues.where(sprint=board["id"])
    statuses = [column["status"] for column in board["columns"]]
    assert statuses == ["to do", "in progress", "in review", "done", "in test"]
    for column in board["columns"]:
        here = [row for row in rows if row.status == column["status"]]
        assert column["count"] == len(here) and len(column["issues"]) == min(1, len(here))
    assert board["points"] == sum(row.points or 0 for row in rows)
    assert board["done"] == sum(row.points or 0 for row in rows if not row.is_open)


def test_a_query_finds_by_fields_words_and_their_opposites() -> None:
    session = server.open(3, "default")
    state = session.state
    one = next(row for row in state.issues if row.assignee not in (None, state.me) and row.labels and row.sprint)
    person, key = state.people[one.assignee or one.reporter], state.projects[one.project].key
    word = one.title.split()[-1]
    tests = {
        f"type:{one.type}": lambda row: row.type == one.type,
        f'status:"{one.status}"': lambda row: row.status == one.status,
        f"priority:{one.priority}": lambda row: row.priority == one.priority,
        f"label:{one.labels[0]}": lambda row: one.labels[0] in row.labels,
        f'assignee:"{person.name}"': lambda row: row.assignee == person.id,
        f"assignee:{person.name.split()[0]}": lambda row: row.assignee == person.id,
        f"assignee:{person.id}": lambda row: row.assignee == person.id,
        "assignee:none": lambda row: row.assignee is None,
        "assignee:me": lambda row: row.assignee == state.me,
        "reporter:me": lambda row: row.reporter == state.me,
        f"project:{key}": lambda row: row.project == one.project,
        f'sprint:"{state.sprints[one.sprint].name}"': lambda row: row.sprint == one.sprint,
        "sprint:none": lambda row: row.sprint is None,
        "sprint:active": lambda row: row.sprint and state.sprints[row.sprint].status == "active",
        "version:released": lambda row: row.version and state.versions[row.version].status == "released",
        "is:open": lambda row: row.is_open,
        "is:done": lambda row: not row.is_open,
        "is:watched": lambda row: state.me in row.watchers,
        "is:blocked": lambda row: row.is_open and state.blockers(row.id),
        word.upper(): lambda row: word in row.words,
        f'"{one.title[2:]}"': lambda row: one.title[2:] in row.title,
    }
    for query, test in tests.items():
        narrow = f"{query} project:{key} -type:{'epic' if one.type != 'epic' else 'bug'}"
        rows = [row for row in state.issues.where(project=one.project) if row.type != "epic"]
        assert found(session, narrow) == {row.id for row in rows if test(row)}, query
        if not query.startswith('"'):
            assert found(session, f"-{query} project:{key} -type:epic") == {row.id for row in rows if not test(row)}


def test_a_query_for_a_name_that_several_have_finds_the_issues_of_all() -> None:
    session = server.open(3, "large")
    firsts = [row.name.split()[0] for row in session.state.people]
    first = next(name for name in firsts if firsts.count(name) > 1)
    namesakes = [row.id for row in session.state.people if row.name.startswith(f"{first} ")]
    rows = [row.id for row in session.state.issues if row.assignee in namesakes]
    assert found(session, f"assignee:{first} type:bug") <= set(rows) and found(session, f"assignee:{first}")
    assert found(session, f"-assignee:{first} is:blocked").isdisjoint(rows)


def test_a_search_lists_the_newest_first(tracker: Session[Tracker]) -> None:
    made = created(tracker)
    rows = do(tracker, "search_issues", query="is:open", limit=50)
    assert rows[0]["id"] == made
    times = [tracker.state.issues[row["id"]].created for row in rows]
    assert times == sorted(times, reverse=True)
    assert len(do(tracker, "search_issues", query="is:open", limit=2)) == 2


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("colour:red", "unknown_field"),
        ("status: done", "bad_filter"),
        ("status:finished", "bad_filter"),
        ("type:wish", "bad_filter"),
        ("priority:none", "bad_filter"),
        ("is:nice", "bad_filter"),
        ('label:""', "bad_filter"),
        ("project:XYZ", "bad_filter"),
    ],
)
def test_a_query_that_makes_no_sense_is_refused(tracker: Session[Tracker], query: str, code: str) -> None:
    assert refused(tracker, "search_issues", query=query) == code


@pytest.mark.parametrize("seed", [0, 1, 2, 1_000_000_000])
def test_every_world_has_a_sprint_to_work_in_and_a_version_to_ship(seed: int) -> None:
    session = server.open(seed, "small")
    assert sprint(session, "active") and sprint(session, "planned")
    do(session, "release_version", version=version(session, "unreleased"))
