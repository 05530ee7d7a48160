"""Tools that look: messages, threads and addresses."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from .parameters import ROWS, AskedFolder, AskedLabel, AskedStatus, Limit, MessageRef, PersonName, Query, ThreadRef
from .query import parse
from .server import server
from .state import Contact, Mail, Message, MessageDetails, MessageView, ThreadView, view


@server.read()
def list_messages(
    mail: Mail, folder: AskedFolder = None, label: AskedLabel = None, status: AskedStatus = None, limit: Limit = None
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
    return MessageDetails(
        id=row.id,
        subject=row.subject,
        name=row.name,
        address=row.address,
        body=row.body,
        at=row.at,
        folder=row.folder,
        unread=row.unread,
        labels=mail.label_names(row),
        thread=row.thread,
        attachment=row.attachment,
        attachment_kb=row.attachment_kb,
        booking=row.booking,
        invoice=row.invoice,
    )


@server.read()
def get_thread(mail: Mail, thread: ThreadRef, limit: Limit = None) -> ThreadView:
    """Show a conversation with its newest messages, oldest first."""
    row = mail.threads[thread]
    newest = mail.messages.where(thread=thread)[-(limit or ROWS) :]
    return ThreadView(id=row.id, subject=row.subject, locked=row.locked, messages=tuple(map(view, newest)))


@server.read()
def look_up_address(mail: Mail, name: PersonName, limit: Limit = None) -> tuple[Contact, ...]:
    """Look up email addresses by the name of a person or company."""
    wanted = " ".join(name.split()).casefold()
    found = [row for row in mail.contacts if wanted in row.name.casefold() or wanted == row.company.casefold()]
    found.sort(key=lambda row: row.name.casefold() != wanted)
    return tuple(found[: limit or ROWS])
