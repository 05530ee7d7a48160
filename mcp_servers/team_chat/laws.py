"""Invariants of the team chat: they hold in every state that a session can reach."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from typing import Any, TypeVar

from ..core import Table
from .state import EDIT_WINDOW, GENERAL, MOST_PINS, Chat, ChatMembership, ChatMessage, ChatPin, ChatReaction
from .tools import server

Row = TypeVar("Row", ChatMessage, ChatMembership, ChatPin, ChatReaction)


def restore_original_message(message: ChatMessage) -> ChatMessage:
    """Return the message as it was first posted."""
    first = message.earlier[0] if message.earlier else message.text
    return dataclasses.replace(message, text=first, earlier=(), edited=None, deleted=None)


@server.invariant
def no_message_vanishes(chat: Chat) -> bool:
    """Every message the session began with is still there, where it was, and its texts are kept in order."""
    seeded = chat.messages.base.rows
    for id in chat.messages.changes:
        now, then = chat.messages.get(id), seeded.get(id)
        if now is None:
            return False
        if then is not None:
            texts = (*now.earlier, now.text)
            if restore_original_message(now) != restore_original_message(then) or texts[: len(then.earlier) + 1] != (
                *then.earlier,
                then.text,
            ):
                return False
    return all(id in chat.messages for id in seeded)


def list_changed_rows(table: Table[Any, Row]) -> list[Row]:
    """Return the rows that the session has changed, each as it was before and as it is now."""
    pairs = [(table.base.rows.get(id), table.get(id)) for id in table.changes]
    return [row for before, after in pairs if before != after for row in (before, after) if row is not None]


def new(chat: Chat) -> list[ChatMessage]:
    """Return the messages posted in this session."""
    return [row for row in list_changed_rows(chat.messages) if row.id not in chat.messages.base.rows]


@server.invariant
def only_the_user_writes(chat: Chat) -> bool:
    """Messages added, edited or deleted in a session are the user's; earlier deletions stay."""
    before = [row for row in list_changed_rows(chat.messages) if row is chat.messages.base.rows.get(row.id)]
    return (
        all(row.author == chat.me for row in list_changed_rows(chat.messages))
        and all(row.deleted is None for row in before)
        and all(row.author != chat.me or row.at <= chat.now for row in chat.messages)
    )


@server.invariant
def replies_belong_to_a_thread_of_their_channel(chat: Chat) -> bool:
    """A reply has an earlier parent in its channel, which is no reply itself."""
    for row in chat.messages:
        if row.parent is not None:
            parent = chat.messages[row.parent]
            if parent.channel != row.channel or parent.parent is not None or parent.at > row.at:
                return False
    return True


@server.invariant
def locked_threads_do_not_grow(chat: Chat) -> bool:
    """No reply of this session is in a locked thread or to a message that was already deleted."""
    pairs = [(row, chat.messages[row.parent]) for row in new(chat) if row.parent is not None]
    return not any(parent.locked or (parent.deleted and parent.deleted < row.at) for row, parent in pairs)


@server.invariant
def archived_channels_stay_as_they_are(chat: Chat) -> bool:
    """In an archived channel nobody comes, goes, writes, pins or reacts; it can only be marked as read."""
    seeded, members = chat.memberships.base.rows, chat.memberships
    changed = [
        *(row.channel for row in list_changed_rows(chat.messages)),
        *(row.channel for row in list_changed_rows(chat.pins)),
        *(chat.messages[row.message].channel for row in list_changed_rows(chat.reactions)),
        *(row.channel for row in list_changed_rows(members) if row.id not in seeded or row.id not in members),
    ]
    return not any(chat.channels[id].archived for id in changed)


@server.invariant
def members_exist_and_once(chat: Chat) -> bool:
    """A membership is of a person in a channel, once; every channel has a member, and all are in general."""
    pairs = [(row.channel, row.person) for row in chat.memberships]
    counts = Counter(channel for channel, _ in pairs)
    general = next(row.id for row in chat.channels if row.name == GENERAL)
    return (
        len(dict.fromkeys(pairs)) == len(pairs)
        and all(channel in chat.channels and person in chat.people for channel, person in pairs)
        and all(counts[row.id] > 0 for row in chat.channels)
        and counts[general] == len(chat.people)
    )


@server.invariant
def unread_counts_are_consistent(chat: Chat) -> bool:
    """Nobody has read what is still to come; a channel is read at least up to the user's last message of a session."""
    last = {row.channel: row.at for row in new(chat)}
    return all(row.joined <= row.read_until <= chat.now for row in chat.memberships) and all(
        row.read_until >= last.get(row.channel, row.read_until) for row in chat.memberships.where(person=chat.me)
    )


@server.invariant
def pins_are_of_living_messages(chat: Chat) -> bool:
    """A pinned message has come, is not deleted, is in the channel of the pin, and is pinned once; few are."""
    counts = Counter(row.channel for row in chat.pins)
    messages = [chat.messages[row.message] for row in chat.pins]
    return (
        all(count <= MOST_PINS for count in counts.values())
        and len(dict.fromkeys(row.message for row in chat.pins)) == len(messages)
        and all(row.deleted is None and row.at <= chat.now for row in messages)
        and [row.channel for row in messages] == [row.channel for row in chat.pins]
    )


@server.invariant
def reactions_are_of_living_messages(chat: Chat) -> bool:
    """Nobody reacts twice with one emoji, or to a message that is deleted or still to come."""
    marks = [(row.message, row.person, row.emoji) for row in chat.reactions]
    messages = [chat.messages[row.message] for row in chat.reactions]
    return len(dict.fromkeys(marks)) == len(marks) and all(
        row.deleted is None and row.at <= chat.now for row in messages
    )


@server.invariant
def channel_names_are_unique(chat: Chat) -> bool:
    """Channel names are unique: lower-case letters and digits separated by hyphens."""
    names = [row.name for row in chat.channels]
    return len(dict.fromkeys(names)) == len(names) and all(re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", one) for one in names)


@server.invariant
def edits_lie_within_their_window(chat: Chat) -> bool:
    """A message has earlier texts exactly when it was edited, soon enough and before it was deleted."""
    return all(
        (row.edited is not None) == bool(row.earlier)
        and (row.edited is None or row.at <= row.edited <= row.at + EDIT_WINDOW)
        and (row.deleted is None or row.at <= row.deleted <= chat.now)
        and (row.edited is None or row.deleted is None or row.edited <= row.deleted)
        for row in chat.messages
    )
