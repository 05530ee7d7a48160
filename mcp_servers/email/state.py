"""State of a mailbox: messages in threads, contacts, drafts, labels, and the limits of its owner."""

from __future__ import annotations

from datetime import date, timedelta
from functools import cached_property
from typing import Literal, NewType

from ..core import Entity, Minute, State, Table, table
from ..shared.people import EmailAddress
from ..shared.records import BookingCode, InvoiceId

MessageId = NewType("MessageId", str)
ThreadId = NewType("ThreadId", str)
DraftId = NewType("DraftId", str)
LabelId = NewType("LabelId", str)

Folder = Literal["inbox", "sent", "archive"]
ReadStatus = Literal["unread", "read"]
LabelKind = Literal["system", "user"]
DraftStatus = Literal["open", "sent"]

HOUR = timedelta(hours=1)
MOST_ATTACHED_KB = 25_000


class Mailbox(Entity):
    """The owner of the mailbox, and how many labels and how many sent messages an hour they may have."""

    __label__ = "{name}"
    id: EmailAddress
    name: str
    label_limit: int
    hourly_limit: int


class Contact(Entity):
    """Someone whose address is known; the owner may have blocked them."""

    __label__ = "{name}"
    id: EmailAddress
    name: str
    company: str
    blocked: bool


class Thread(Entity):
    """A conversation; a locked one takes no more replies."""

    __label__ = "the thread {subject}"
    id: ThreadId
    subject: str
    locked: bool


class Message(Entity):
    """One message; `name` and `address` are the other side's: who sent it or, in the folder sent, who it went to.

    An automatic message has no address, and may be about a booking or an invoice that other servers know. After it came
    to be only folder, unread and labels change.
    """

    __label__ = "the message {subject}"
    id: MessageId
    thread: ThreadId
    subject: str
    name: str
    address: EmailAddress | None = None
    body: str
    at: Minute
    folder: Folder
    unread: bool
    labels: tuple[LabelId, ...] = ()
    answers: MessageId | None = None
    attachment: str | None = None
    attachment_kb: int | None = None
    booking: BookingCode | None = None
    invoice: InvoiceId | None = None

    @cached_property
    def sent_on(self) -> date | tuple[()]:
        """The day on which the owner sent the message; an empty tuple for a received one."""
        return self.at.date() if self.folder == "sent" else ()

    @cached_property
    def text(self) -> str:
        """The text that a search looks through, in lowercase."""
        return f"{self.subject}\n{self.name}\n{self.body}".casefold()

    @cached_property
    def other(self) -> str:
        """The name and address of the other party, in lowercase."""
        return f"{self.name} {self.address or ''}".casefold()


class MessageView(Entity):
    """A message in a list."""

    __label__ = "the message {subject}"
    id: MessageId
    subject: str
    name: str
    at: Minute
    unread: bool


class MessageDetails(Entity):
    """A message in full, with the names of its labels."""

    __label__ = "the message {subject}"
    id: MessageId
    subject: str
    name: str
    address: EmailAddress | None = None
    body: str
    at: Minute
    folder: Folder
    unread: bool
    labels: tuple[str, ...]
    thread: ThreadId
    attachment: str | None = None
    attachment_kb: int | None = None
    booking: BookingCode | None = None
    invoice: InvoiceId | None = None


class SentMessage(Entity):
    """A message that was just sent; `name` is the recipient's."""

    __label__ = "the message {subject}"
    id: MessageId
    subject: str
    name: str
    at: Minute
    thread: ThreadId


class FiledMessage(Entity):
    """Where a message is kept and under which labels."""

    __label__ = "the message {subject}"
    id: MessageId
    subject: str
    folder: Folder
    labels: tuple[str, ...]


class ThreadView(Entity):
    """A conversation with its newest messages, oldest first."""

    __label__ = "the thread {subject}"
    id: ThreadId
    subject: str
    locked: bool
    messages: tuple[MessageView, ...]


class Draft(Entity):
    """A message being written, perhaps without recipient; once sent it names the message it became."""

    __label__ = "the draft {subject}"
    id: DraftId
    to: EmailAddress | None = None
    name: str | None = None
    subject: str
    body: str
    status: DraftStatus = "open"
    message: MessageId | None = None


class DraftView(Entity):
    """A draft as its writer sees it; `name` is the recipient's."""

    __label__ = "the draft {subject}"
    id: DraftId
    subject: str
    name: str | None = None
    body: str


class Label(Entity):
    """A label for messages; system labels are set by the mail system alone."""

    __label__ = "the label {label}"
    id: LabelId
    label: str
    kind: LabelKind


class LabelView(Entity):
    """A label, and how many messages have it."""

    __label__ = "the label {label}"
    id: LabelId
    label: str
    kind: LabelKind
    messages: int


class Mail(State):
    """Everything in one person's mailbox; messages stand in order of time."""

    mailboxes: Table[EmailAddress, Mailbox] = table("", "mailbox")
    contacts: Table[EmailAddress, Contact] = table("", "mailbox")
    threads: Table[ThreadId, Thread] = table("THR", "thread")
    messages: Table[MessageId, Message] = table("MSG", "message", index=("thread", "folder", "labels", "sent_on"))
    drafts: Table[DraftId, Draft] = table("DRF", "draft")
    labels: Table[LabelId, Label] = table("LBL", "label", index=("label",))

    @property
    def owner(self) -> Mailbox:
        return next(iter(self.mailboxes))

    def sent_last_hour(self) -> int:
        """Return how many messages the owner sent in the last sixty minutes."""
        start = self.now - HOUR
        days = dict.fromkeys((start.date(), self.now.date()))
        return sum(row.at > start for day in days for row in self.messages.where(sent_on=day))

    def label_names(self, message: Message) -> tuple[str, ...]:
        return tuple(self.labels[label].label for label in message.labels)


def view(message: Message) -> MessageView:
    return MessageView.from_row(message)


def view_draft(draft: Draft) -> DraftView:
    return DraftView.from_row(draft)
