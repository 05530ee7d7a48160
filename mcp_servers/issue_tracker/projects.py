"""The seeded projects: their members, sprints and versions, before there are issues."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple, TypeVar

from ..kit import Draw, fresh
from .names import PROJECTS
from .state import Project, SoftwareVersionId, Sprint, SprintId, SprintStatus, Tracker, Version

Id = TypeVar("Id", bound=str)


class Plan(NamedTuple):
    """The sprints and versions of a project that its issues are put into."""

    project: Project
    closed: list[SprintId]
    current: SprintId | None
    planned: SprintId
    released: SoftwareVersionId
    ready: SoftwareVersionId
    coming: SoftwareVersionId


def add_project(tracker: Tracker, draw: Draw, key: str, place: int, size: int, past: int) -> Plan:
    """A project with so many members and closed sprints.

    The user is a member of the first one and most others; the second may have no active sprint.
    """
    others = [row.id for row in tracker.people if row.id != tracker.me]
    members = draw.sample(others, size)
    if place == 0 or draw.chance(0.7):
        members = draw.shuffled([tracker.me, *members[1:]])
    project = tracker.projects.put(
        Project(
            id=fresh(tracker.projects, key),
            key=key,
            name=PROJECTS[key],
            lead=draw.choice(members),
            members=tuple(members),
            wip_limit=draw.integer(2, 3),
        )
    )
    first = draw.integer(3, 30)
    closed = [add_sprint(tracker, project, first + number, "closed", past - number) for number in range(past)]
    number = first + past
    current = None if place == 1 and draw.chance(0.6) else add_sprint(tracker, project, number, "active", 0)
    planned = add_sprint(tracker, project, number + 1, "planned", 0)
    major, minor = draw.integer(1, 6), draw.integer(0, 8)
    versions = [add_version(tracker, draw, project, f"{major}.{minor + step}", step) for step in range(3)]
    return Plan(project, closed, current, planned, *versions)


def add_sprint(tracker: Tracker, project: Project, number: int, status: SprintStatus, ago: int) -> SprintId:
    """A sprint of two weeks; closed ones ended so many fortnights before the active one began."""
    begun = tracker.now.date() - timedelta(days=14 * ago + 5)
    started = status != "planned"
    id = fresh(tracker.sprints, f"{project.key}/{number}")
    tracker.sprints.put(
        Sprint(
            id=id,
            project=project.id,
            name=f"{project.key} {number}",
            capacity=0,
            status=status,
            start=begun if started else None,
            end=begun + timedelta(days=14) if started else None,
        )
    )
    return id


def add_version(tracker: Tracker, draw: Draw, project: Project, name: str, step: int) -> SoftwareVersionId:
    """A version: the first step is released, the others are due in the coming weeks."""
    today, id = tracker.now.date(), fresh(tracker.versions, f"{project.key}/{name}")
    due = today + timedelta(days=30 * step + draw.integer(-20, -5))
    tracker.versions.put(
        Version(
            id=id,
            project=project.id,
            name=f"{project.key} {name}",
            status="unreleased" if step else "released",
            due=due,
            released=None if step else due,
        )
    )
    return id
