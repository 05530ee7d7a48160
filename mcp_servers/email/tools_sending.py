"""Tools that send messages."""

from __future__ import annotations

from ..kit import ToolError
from .parameters import Body, MessageRef, Recipient, Subject
from .sending import attach, post, receipt, require_body, require_recipient
from .server import server
from .state import Mail, SentMessage


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
