"""What every way to send a message goes through: who may get it, how much may go out, and the message itself."""

from __future__ import annotations

from ..kit import ToolError
from ..people import COMPANIES, EmailAddress
from .state import MOST_ATTACHED_KB, Contact, Mail, Message, SentMessage, Thread

SHORTEST_BODY = 10


def require_recipient(mail: Mail, address: EmailAddress) -> Contact:
    """The contact of an address that mail may be sent to."""
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
    """The message with the attachment of another one."""
    if (source.attachment_kb or 0) > MOST_ATTACHED_KB:
        raise ToolError(
            "attachment_too_large",
            f"{source.attachment} has {source.attachment_kb} KB, over the {MOST_ATTACHED_KB} allowed; send its text.",
        )
    return mail.messages.change(message.id, attachment=source.attachment, attachment_kb=source.attachment_kb)


def receipt(message: Message) -> SentMessage:
    return SentMessage(id=message.id, subject=message.subject, name=message.name, at=message.at, thread=message.thread)
