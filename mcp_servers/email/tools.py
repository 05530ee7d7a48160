"""The server object of the mailbox, its parameter types and its tools."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Annotated

from pydantic import Field

from ..core import ObservedField, Server, ToolError
from ..shared.people import COMPANIES, EmailAddress
from .query import parse
from .seed import seed
from .state import (
    MOST_ATTACHED_KB,
    Contact,
    Draft,
    DraftId,
    DraftView,
    FiledMessage,
    Folder,
    Label,
    LabelId,
    LabelView,
    Mail,
    Message,
    MessageDetails,
    MessageId,
    MessageView,
    ReadStatus,
    SentMessage,
    Thread,
    ThreadId,
    ThreadView,
    view,
    view_draft,
)

server = Server("email", "Read, search, send, draft, label and archive email.", seed)


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
    str,
    Field(max_length=60, pattern=r"\S", description="Name of a person or company, or a part of it"),
    ObservedField("name"),
]
Query = Annotated[
    str,
    Field(
        max_length=200,
        pattern=r"\S",
        description="Words, from: to: subject: label: before:2026-03-05 after:2026-03-05 is:unread",
        examples=QUERIES,
    ),
    ObservedField("subject"),
]

FolderParam = Annotated[Folder | None, Field(description="Folder to list, inbox by default")]
LabelParam = Annotated[LabelId | None, Field(description="Only messages with this label id")]
StatusParam = Annotated[ReadStatus | None, Field(description="Only unread or only read messages")]
NewRecipient = Annotated[EmailAddress | None, Field(description="New email address of the recipient")]
Limit = Annotated[
    int | None,
    Field(ge=1, le=50, description="Most rows to return, 5 by default", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20]),
]

ROWS = 5


# Shared by all tools that send messages: recipient check, sending limit, and the message itself.

SHORTEST_BODY = 10


def require_recipient(mail: Mail, address: EmailAddress) -> Contact:
    """Return the contact with this address. Raises ToolError when mail may not be sent there."""
    if address == mail.owner.id:
        raise ToolError("own_address", f"{address} is your own address; choose somebody else.")
    if address.rpartition("@")[2] not in COMPANIES:
        raise ToolError(
            "unknown_domain", f"Mail to {address[:80]} cannot be delivered; use look_up_address to find an address."
        )
    contact = mail.contacts[address]
    if contact.blocked:
        raise ToolError("recipient_blocked", f"You have blocked {contact.name}; write to somebody else.")
    return contact


def require_body(body: str) -> None:
    if len(body.strip()) < SHORTEST_BODY:
        raise ToolError(
            "body_too_short", f"The text has under {SHORTEST_BODY} characters; write a longer one before sending."
        )


def post(mail: Mail, to: Contact, subject: str, body: str, answers: Message | None = None) -> Message:
    """Send a message, in the thread of the one it answers or else in a new thread."""
    limit = mail.owner.hourly_limit
    if mail.sent_last_hour() >= limit:
        raise ToolError(
            "sending_limit",
            f"You have sent {limit} messages in the last hour, the most allowed; save a draft for later.",
        )
    if answers is None:
        thread = mail.threads.put(Thread(id=mail.threads.new_id(), subject=subject, locked=False)).id
    else:
        thread = answers.thread
    return mail.messages.put(
        Message(
            id=mail.messages.new_id(),
            thread=thread,
            subject=subject,
            name=to.name,
            address=to.id,
            body=body,
            at=mail.now,
            folder="sent",
            unread=False,
            answers=answers.id if answers else None,
        )
    )


def attach(mail: Mail, message: Message, source: Message) -> Message:
    """Add the attachment of `source` to a message. Raises ToolError when it is too large."""
    if (source.attachment_kb or 0) > MOST_ATTACHED_KB:
        raise ToolError(
            "attachment_too_large",
            f"{source.attachment} has {source.attachment_kb} KB, over the {MOST_ATTACHED_KB} allowed; send its text.",
        )
    return mail.messages.change(message.id, attachment=source.attachment, attachment_kb=source.attachment_kb)


def receipt(message: Message) -> SentMessage:
    return SentMessage.from_row(message)


# Tools for drafts, messages that are written now and sent later.


@server.write()
def create_draft(mail: Mail, to: Recipient, subject: Subject, body: Body) -> DraftView:
    """Save a new draft without sending it."""
    recipient = require_recipient(mail, to)
    draft = Draft(id=mail.drafts.new_id(), to=to, name=recipient.name, subject=subject, body=body)
    return view_draft(mail.drafts.put(draft))


@server.read()
def list_drafts(mail: Mail, limit: Limit = None) -> tuple[DraftView, ...]:
    """List the drafts that are not sent yet, newest first."""
    unsent = [row for row in mail.drafts if row.status == "open"]
    return tuple(view_draft(row) for row in unsent[::-1][: limit or ROWS])


def require_unsent(mail: Mail, draft: DraftId) -> Draft:
    row = mail.drafts[draft]
    if row.status == "sent":
        raise ToolError("draft_already_sent", f"{draft} went out as {row.message}; create a new draft instead.")
    return row


@server.write(idempotent=True)
def update_draft(mail: Mail, draft: DraftRef, body: Body, to: NewRecipient = None) -> DraftView:
    """Replace the text of a draft, and its recipient if given."""
    row = require_unsent(mail, draft)
    if to is not None:
        mail.drafts.change(draft, to=to, name=require_recipient(mail, to).name)
    elif body == row.body:
        raise ToolError("nothing_to_change", f"{draft} already has this text; send it or give another one.")
    return view_draft(mail.drafts.change(draft, body=body))


@server.write(idempotent=True)
def send_draft(mail: Mail, draft: DraftRef) -> SentMessage:
    """Send a draft that has a recipient and a text."""
    row = require_unsent(mail, draft)
    if row.to is None:
        raise ToolError("no_recipient", f"{draft} has no recipient; set one with update_draft.")
    recipient = require_recipient(mail, row.to)
    require_body(row.body)
    message = post(mail, recipient, row.subject, row.body)
    mail.drafts.change(draft, status="sent", message=message.id)
    return receipt(message)


@server.write(destructive=True, idempotent=True)
def delete_draft(mail: Mail, draft: DraftRef) -> DraftView:
    """Delete a draft that was not sent."""
    require_unsent(mail, draft)
    return view_draft(mail.drafts.remove(draft))


# Tools that organize messages: labels and the archive.


def view_label(mail: Mail, row: Label) -> LabelView:
    return LabelView.from_row(row, messages=len(mail.messages.where(labels=row.id)))


def file(mail: Mail, row: Message) -> FiledMessage:
    return FiledMessage.from_row(row, labels=mail.label_names(row))


@server.read()
def list_labels(mail: Mail, limit: Limit = None) -> tuple[LabelView, ...]:
    """List the labels, your own ones first."""
    rows = sorted(mail.labels, key=lambda row: row.kind == "system")
    return tuple(view_label(mail, row) for row in rows[: limit or ROWS])


@server.write(idempotent=True)
def create_label(mail: Mail, name: LabelName) -> LabelView:
    """Create a label for messages."""
    known = mail.labels.where(label=name)
    if known:
        raise ToolError("label_exists", f"{known[0].id} is already named {name}; use that label.")
    limit = mail.owner.label_limit
    if len(mail.labels.where(kind="user")) >= limit:
        raise ToolError("label_limit", f"You have {limit} labels, the most allowed; use one of them.")
    return view_label(mail, mail.labels.put(Label(id=mail.labels.new_id(), label=name, kind="user")))


@server.write(idempotent=True)
def label_message(mail: Mail, message: MessageRef, label: LabelRef) -> FiledMessage:
    """Put one of your labels on a message."""
    row, wanted = mail.messages[message], mail.labels[label]
    if wanted.kind == "system":
        raise ToolError("system_label", f"Only the mail system sets {wanted.label}; use a label of your own.")
    if label in row.labels:
        raise ToolError("already_labelled", f"{message} already has the label {wanted.label}; choose another one.")
    return file(mail, mail.messages.change(message, labels=(*row.labels, label)))


@server.write(idempotent=True)
def archive_message(mail: Mail, message: MessageRef) -> FiledMessage:
    """Move a message from the inbox to the archive."""
    row = mail.messages[message]
    if row.folder == "archive":
        raise ToolError("already_archived", f"{message} is in the archive already; there is nothing to do.")
    if row.folder == "sent":
        raise ToolError("not_in_inbox", f"{message} is a message you sent; only inbox messages can be archived.")
    return file(mail, mail.messages.change(message, folder="archive"))


# Read tools: messages, threads and addresses.


@server.read()
def list_messages(
    mail: Mail, folder: FolderParam = None, label: LabelParam = None, status: StatusParam = None, limit: Limit = None
) -> tuple[MessageView, ...]:
    """List messages of a folder, newest first."""
    if label is not None:
        mail.labels[label]
    found = (
        row
        for row in reversed(mail.messages.where(folder=folder or "inbox"))
        if (label is None or label in row.labels) and (status is None or row.unread == (status == "unread"))
    )
    return tuple(map(view, islice(found, limit or ROWS)))


@server.read()
def search_messages(mail: Mail, query: Query, limit: Limit = None) -> tuple[MessageView, ...]:
    """Search the messages of all folders, newest first."""
    found: Iterator[Message] = reversed(list(mail.messages))
    for test in parse(mail, query):
        found = filter(test, found)
    return tuple(map(view, islice(found, limit or ROWS)))


@server.read()
def get_message(mail: Mail, message: MessageRef) -> MessageDetails:
    """Show a message in full; it stays unread."""
    row = mail.messages[message]
    return MessageDetails.from_row(row, labels=mail.label_names(row))


@server.read()
def get_thread(mail: Mail, thread: ThreadRef, limit: Limit = None) -> ThreadView:
    """Show a conversation with its newest messages, oldest first."""
    row = mail.threads[thread]
    newest = mail.messages.where(thread=thread)[-(limit or ROWS) :]
    return ThreadView.from_row(row, messages=tuple(map(view, newest)))


@server.read()
def look_up_address(mail: Mail, name: PersonName, limit: Limit = None) -> tuple[Contact, ...]:
    """Look up email addresses by the name of a person or company."""
    wanted = " ".join(name.split()).casefold()
    found = [row for row in mail.contacts if wanted in row.name.casefold() or wanted == row.company.casefold()]
    found.sort(key=lambda row: row.name.casefold() != wanted)
    return tuple(found[: limit or ROWS])


# Tools that send messages.


@server.write()
def send_email(mail: Mail, to: Recipient, subject: Subject, body: Body) -> SentMessage:
    """Send a new message at once."""
    recipient = require_recipient(mail, to)
    require_body(body)
    return receipt(post(mail, recipient, subject, body))


@server.write()
def reply_to_message(mail: Mail, message: MessageRef, body: Body) -> SentMessage:
    """Reply to a message in its thread, which marks it as read."""
    row = mail.messages[message]
    if row.address is None:
        raise ToolError(
            "no_reply", f"{row.id} is an automatic message that takes no reply; look_up_address finds people."
        )
    if mail.threads[row.thread].locked:
        raise ToolError(
            "thread_locked", f"{row.thread} is locked and takes no replies; use send_email for a new thread."
        )
    recipient = require_recipient(mail, row.address)
    require_body(body)
    mail.messages.change(message, unread=False)
    subject = row.subject if row.subject.startswith("re: ") else f"re: {row.subject}"
    return receipt(post(mail, recipient, subject, body, answers=row))


@server.write()
def forward_message(mail: Mail, message: MessageRef, to: Recipient) -> SentMessage:
    """Forward a message with its attachment, in a new thread."""
    row, recipient = mail.messages[message], require_recipient(mail, to)
    if to == row.address:
        raise ToolError("already_has_it", f"{recipient.name} already has {row.id}; forward it to somebody else.")
    subject = row.subject if row.subject.startswith("fwd: ") else f"fwd: {row.subject}"
    return receipt(attach(mail, post(mail, recipient, subject, row.body), row))
