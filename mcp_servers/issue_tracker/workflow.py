"""The workflow: which status may follow which, by type, and what lies beneath what."""

from __future__ import annotations

from .state import IssueStatus, IssueType

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
