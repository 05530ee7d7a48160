"""Tools that put messages in order: labels and the archive."""

from __future__ import annotations

from ..kit import ToolError
from .parameters import ROWS, LabelName, LabelRef, Limit, MessageRef
from .server import server
from .state import FiledMessage, Label, LabelView, Mail, Message


def view_label(mail: Mail, row: Label) -> LabelView:
    return LabelView(id=row.id, label=row.label, kind=row.kind, messages=len(mail.messages.where(labels=row.id)))


def file(mail: Mail, row: Message) -> FiledMessage:
    return FiledMessage(id=row.id, subject=row.subject, folder=row.folder, labels=mail.label_names(row))


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
