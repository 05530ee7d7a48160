"""What the parameters of the mailbox's tools take, described once for all of them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..kit import Seen
from ..people import EmailAddress
from .state import DraftId, Folder, LabelId, MessageId, ReadStatus, ThreadId

MessageRef = Annotated[MessageId, Field(description="Id of a message")]
ThreadRef = Annotated[ThreadId, Field(description="Id of a thread")]
DraftRef = Annotated[DraftId, Field(description="Id of a draft that is not sent yet")]
LabelRef = Annotated[LabelId, Field(description="Id of a label that is not a system label")]
Recipient = Annotated[EmailAddress, Field(description="Email address of the recipient")]

SUBJECTS = [
    "project kickoff", "lunch on Friday", "new parking rules", "visit next week", "missing pages", "desk booking",
    "bike storage", "birthday cake", "printer repair", "language course", "choir practice", "blood drive",
    "fire drill", "spare keys", "lost umbrella", "photo consent", "second opinion", "coffee machine",
    "holiday cover", "shared calendar",
]  # fmt: skip
BODIES = [
    "See you on Monday at ten", "The files are ready for you", "Please send me the latest numbers",
    "Thanks for your quick help", "I will call you tomorrow", "Let us meet in room four",
    "The order arrived this morning", "Could you check page three", "We need two more chairs",
    "I agree with your plan", "The train is an hour late", "Everything went well today", "My answer is yes",
    "Please wait until Thursday", "The price is too high for us", "I have booked the small room",
    "The keys are at the front desk", "Your copy is in the post", "Sorry for the late answer",
    "The new version works",
]  # fmt: skip
LABEL_NAMES = [
    "to read", "follow up", "waiting", "next week", "this month", "bills", "recipes", "school", "sports", "hobby",
    "music", "housing", "insurance", "health", "garden club", "job search", "volunteers", "big ideas", "on hold",
    "print later",
]  # fmt: skip
QUERIES = [
    "is:unread", "invoice", "subject:report", "before:2026-06-01", "after:2026-02-15", "is:unread subject:plan",
    "survey", "subject:review is:read", "agenda after:2026-04-01",
]  # fmt: skip

Subject = Annotated[str, Field(max_length=100, pattern=r"\S", description="Subject line", examples=SUBJECTS)]
Body = Annotated[
    str, Field(max_length=2000, pattern=r"\S", description="Text, at least 10 characters to be sent", examples=BODIES)
]
LabelName = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9]+([ -][a-z0-9]+)*$",
        max_length=30,
        description="Name of the new label, in lower case",
        examples=LABEL_NAMES,
    ),
]
PersonName = Annotated[
    str, Field(max_length=60, pattern=r"\S", description="Name of a person or company, or a part of it"), Seen("name")
]
Query = Annotated[
    str,
    Field(
        max_length=200,
        pattern=r"\S",
        description="Words, from: to: subject: label: before:2026-03-05 after:2026-03-05 is:unread",
        examples=QUERIES,
    ),
    Seen("subject"),
]

AskedFolder = Annotated[Folder | None, Field(description="Folder to list, inbox by default")]
AskedLabel = Annotated[LabelId | None, Field(description="Only messages with this label id")]
AskedStatus = Annotated[ReadStatus | None, Field(description="Only unread or only read messages")]
NewRecipient = Annotated[EmailAddress | None, Field(description="New email address of the recipient")]
Limit = Annotated[
    int | None,
    Field(ge=1, le=50, description="Most rows to return, 5 by default", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20]),
]

ROWS = 5
