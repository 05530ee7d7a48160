"""Invariants of the mailbox: they hold in every state that a session can reach."""

from __future__ import annotations

import dataclasses

from .state import HOUR, MOST_ATTACHED_KB, Mail, Message
from .tools import server


def content(message: Message) -> Message:
    """Return the message without its folder, read status and labels: the part that may never change."""
    return dataclasses.replace(message, folder="inbox", unread=False, labels=())


@server.invariant
def no_message_is_lost_or_rewritten(mail: Mail) -> bool:
    """Every message the session began with is still there, and says what it said."""
    seeded = mail.messages.base.rows
    for id in mail.messages.changes:
        now, then = mail.messages.get(id), seeded.get(id)
        if now is None or (then is not None and content(now) != content(then)):
            return False
    return all(id in mail.messages for id in seeded)


@server.invariant
def what_is_sent_stays_sent(mail: Mail) -> bool:
    """A message sent never leaves its folder, and what was received never gets there."""
    seeded = mail.messages.base.rows
    changed = [(seeded.get(id), mail.messages.get(id)) for id in mail.messages.changes]
    return all(
        now is not None and (now.folder == "sent") == (then is None or then.folder == "sent") for then, now in changed
    )


@server.invariant
def messages_are_in_order_of_time(mail: Mail) -> bool:
    """Messages, and so those of each thread, stand in order of time, none of them later than now."""
    times = [row.at for row in mail.messages]
    return all(a <= b for a, b in zip(times, [*times[1:], mail.now], strict=True))


@server.invariant
def every_thread_has_messages_and_they_have_it(mail: Mail) -> bool:
    """Every message is in a thread that exists, and no thread is empty."""
    used = dict.fromkeys(row.thread for row in mail.messages)
    return all(id in mail.threads for id in used) and len(used) == len(mail.threads)


@server.invariant
def replies_follow_what_they_answer(mail: Mail) -> bool:
    """A reply is later than what it answers and in its thread; each thread has one message that answers none."""
    for row in mail.messages:
        answered = mail.messages.get(row.answers) if row.answers else None
        if row.answers and (answered is None or answered.thread != row.thread or answered.at >= row.at):
            return False
    return sum(row.answers is None for row in mail.messages) == len(mail.threads)


@server.invariant
def addresses_are_known(mail: Mail) -> bool:
    """Only contacts have written or were written to, and an automatic message is never one that was sent."""
    return all(
        mail.contacts[row.address].name == row.name if row.address else row.folder != "sent" for row in mail.messages
    )


@server.invariant
def labels_in_use_exist(mail: Mail) -> bool:
    """A label on a message exists and is on it once; labels differ in name; the owner's are within the limit."""
    names = [row.label for row in mail.labels]
    return (
        all(label in mail.labels for row in mail.messages for label in row.labels)
        and all(len(dict.fromkeys(row.labels)) == len(row.labels) for row in mail.messages)
        and len(dict.fromkeys(names)) == len(names)
        and sum(row.kind == "user" for row in mail.labels) <= mail.owner.label_limit
    )


@server.invariant
def sent_drafts_became_messages(mail: Mail) -> bool:
    """A draft that was sent names the message with its text and recipient; an open one names none."""
    for draft in mail.drafts:
        message = mail.messages.get(draft.message) if draft.message else None
        if (draft.status == "sent") != (message is not None):
            return False
        if message and (message.folder, message.address, message.body) != ("sent", draft.to, draft.body):
            return False
    return True


@server.invariant
def sending_keeps_the_limits(mail: Mail) -> bool:
    """No hour exceeds the limit of sent messages, and no sent attachment exceeds the size limit."""
    sent = mail.messages.where(folder="sent")
    limit = mail.owner.hourly_limit
    return all(late.at - early.at >= HOUR for early, late in zip(sent, sent[limit:], strict=False)) and all(
        (row.attachment_kb or 0) <= MOST_ATTACHED_KB for row in sent
    )


@server.invariant
def only_what_came_in_is_unread(mail: Mail) -> bool:
    """Sent messages are never unread."""
    return not any(row.unread for row in mail.messages.where(folder="sent"))
