"""Server object of the issue tracker and the parameter types of its tools."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..core import Server
from ..shared.people import EmailAddress
from .seed import seed
from .state import (
    LABELS,
    IssueId,
    IssueLinkId,
    IssueStatus,
    IssueType,
    LinkKind,
    Priority,
    Resolution,
    SoftwareVersionId,
    SprintId,
    TrackerProjectId,
)

server = Server("issue_tracker", "Track issues of software projects through workflows, sprints and versions.", seed)


TITLES = [
    "add a dark theme", "cache the exchange rates", "crash when the cart is empty", "document the webhook format",
    "drop the old endpoint", "explain the error page", "export freezes on large files", "import contacts from a file",
    "keep the filter after reload", "login fails behind a proxy", "log out idle users", "remember the last search",
    "rotate the signing keys", "show the delivery date", "sort the list by price", "speed up the start page",
    "support right to left text", "wrong total in the receipt",
]  # fmt: skip
COMMENTS = [
    "A customer reported this again", "Could we do this next week", "I can reproduce it on the staging server",
    "It only happens on slow networks", "Let us talk about this tomorrow", "Please add the exact steps",
    "Seen in the latest build too", "The cause is a missing index", "The design is agreed",
    "The fix is ready for review", "This depends on the new library", "We should split this one",
]  # fmt: skip
SPRINT_NAMES = [
    "Autumn cleanup", "Big search", "Bug hunt", "Checkout polish", "Faster start", "First release", "Foundation",
    "Green build", "Mobile first", "Quiet servers", "Security week", "Spring launch", "Summer slack", "Winter tuning",
]  # fmt: skip
QUERIES = [
    "type:bug is:open", "login", "status:\"in progress\"", "assignee:me is:open", "label:api", "priority:urgent",
    "assignee:none type:story", "export -type:bug", "is:blocked", "sprint:active -status:done", "checkout type:story",
    "label:security priority:high", "is:watched", "reporter:me", "type:epic", "version:unreleased is:open",
    "search is:done", "sprint:none type:bug", "status:\"in review\"", "report label:frontend",
]  # fmt: skip

ProjectRef = Annotated[TrackerProjectId, Field(description="Id of a project")]
IssueRef = Annotated[IssueId, Field(description="Id of an issue")]
OtherIssue = Annotated[IssueId, Field(description="Id of the other issue")]
SprintRef = Annotated[SprintId, Field(description="Id of a sprint")]
VersionRef = Annotated[SoftwareVersionId, Field(description="Id of a version")]
LinkRef = Annotated[IssueLinkId, Field(description="Id of a link between two issues")]
AssigneeRef = Annotated[EmailAddress, Field(description="E-mail address of a member of the project")]

Type = Annotated[IssueType, Field(description="What kind of issue it is")]
Title = Annotated[str, Field(max_length=100, pattern=r"\S", description="Title of the issue", examples=TITLES)]
Parent = Annotated[
    IssueId | None, Field(description="Id of the issue it lies beneath: an epic, or for a sub-task what it is part of")
]
NewPriority = Annotated[Priority | None, Field(description="How important it is")]
Points = Annotated[
    int | None,
    Field(ge=1, le=21, description="Size in story points", examples=[1, 1, 2, 2, 3, 3, 4, 5, 5, 6, 8, 8, 10, 13]),
]
Estimate = Annotated[
    int | None,
    Field(
        ge=15,
        le=9600,
        description="Estimated work in minutes",
        examples=[30, 45, 60, 90, 120, 180, 240, 300, 360, 480, 600, 720, 960, 1440],
    ),
]
Label = Annotated[str, Field(pattern=r"^[a-z]+$", max_length=30, description="A label", examples=list(LABELS))]
Labels = Annotated[
    tuple[Label, ...] | None, Field(max_length=5, description="All labels it has from now on, in small letters")
]
NewVersion = Annotated[SoftwareVersionId | None, Field(description="Id of the version that is to contain it")]
NewStatus = Annotated[IssueStatus, Field(description="Status to move to")]
NewResolution = Annotated[Resolution | None, Field(description="How it ended; needed for done")]
CommentText = Annotated[str, Field(max_length=1000, pattern=r"\S", description="What to say", examples=COMMENTS)]
Minutes = Annotated[
    int,
    Field(
        ge=1,
        le=600,
        description="Minutes worked today",
        examples=[10, 15, 20, 25, 30, 40, 45, 50, 60, 75, 90, 120, 150, 180, 240],
    ),
]
Kind = Annotated[LinkKind, Field(description="What the first issue does to the other")]
SprintName = Annotated[
    str, Field(max_length=60, pattern=r"\S", description="Name of the sprint", examples=SPRINT_NAMES)
]
Capacity = Annotated[
    int,
    Field(
        ge=1, le=300, description="Story points it can hold", examples=[10, 12, 15, 18, 20, 24, 25, 30, 35, 40, 45, 50]
    ),
]
Weeks = Annotated[int, Field(ge=1, le=4, description="How many weeks it lasts", examples=[1, 2, 3, 4])]
NextSprint = Annotated[SprintId | None, Field(description="Id of the planned sprint that takes what is not done")]

Query = Annotated[
    str,
    Field(
        max_length=120,
        pattern=r"\S",
        description="Words of the title, and fields: project:, type:, status:, priority:, assignee:, reporter:, "
        "label:, sprint:, version:, is:open; -field: for the opposite",
        examples=QUERIES,
    ),
]
Limit = Annotated[int, Field(ge=1, le=50, description="Most rows to return", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20])]

ROWS = 5
