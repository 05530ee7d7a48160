"""State of the team chat: people, channels and their members, messages in threads, pins and reactions."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import cached_property
from operator import attrgetter
from typing import Literal, NewType

from ..core import Entity, Minute, NotFound, State, Table, table
from ..shared.people import EmailAddress, cast

ChatChannelId = NewType("ChatChannelId", str)
ChatMessageId = NewType("ChatMessageId", str)
ChatMembershipId = NewType("ChatMembershipId", str)
ChatPinId = NewType("ChatPinId", str)
ChatReactionId = NewType("ChatReactionId", str)

Visibility = Literal["public", "private"]
Emoji = Literal["thumbs_up", "heart", "tada", "eyes", "laughing", "check_mark", "rocket", "thinking"]

MINUTE = timedelta(minutes=1)
EDIT_WINDOW = timedelta(minutes=15)
MOST_PINS = 3
GENERAL = "general"
WORD = re.compile(r"[a-z0-9]+(?:\.[a-z0-9]+)*")


class ChatPerson(Entity):
    """Somebody of the team; `@` and the handle mention them."""

    __label__ = "{name}"
    id: EmailAddress
    name: str
    handle: str


class ChatChannel(Entity):
    """A place to talk."""

    __label__ = "the {name} channel"
    id: ChatChannelId
    name: str
    topic: str
    visibility: Visibility
    archived: bool = False


class ChatMembership(Entity):
    """Somebody is in a channel and has read it up to a moment."""

    id: ChatMembershipId
    channel: ChatChannelId
    person: EmailAddress
    joined: Minute
    read_until: Minute

    @property
    def place(self) -> str:
        return place(self.channel, self.person)


class ChatMessage(Entity):
    """A message, seen from `at` on; a reply has the message that began its thread as parent.

    Nothing is lost: `earlier` are the texts before its edits, and a deleted message keeps its text unseen.
    """

    __label__ = "the message {text}"
    id: ChatMessageId
    channel: ChatChannelId
    author: EmailAddress
    text: str
    at: Minute
    parent: ChatMessageId | None = None
    locked: bool = False
    earlier: tuple[str, ...] = ()
    edited: Minute | None = None
    deleted: Minute | None = None

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words that a search finds it by; empty once it is deleted."""
        return words_of(self.text) if self.deleted is None else ()

    @cached_property
    def mentioned(self) -> frozenset[str]:
        """The mentions in its text in lower case, each with its @: handles, and possibly @channel."""
        return frozenset(word for word in self.text.casefold().split() if word[0] == "@")


class ChatPin(Entity):
    """A message pinned in its channel."""

    id: ChatPinId
    channel: ChatChannelId
    message: ChatMessageId
    by: EmailAddress


class ChatReaction(Entity):
    """Somebody's emoji on a message."""

    id: ChatReactionId
    message: ChatMessageId
    person: EmailAddress
    emoji: Emoji


class Chat(State):
    """The chat of one team, as the user sees it; messages whose time has not come are there but unseen."""

    people: Table[EmailAddress, ChatPerson] = table("", "person of the team")
    channels: Table[ChatChannelId, ChatChannel] = table("CHAN", "channel", index=("name",))
    memberships: Table[ChatMembershipId, ChatMembership] = table(
        "CMEM", "membership", index=("channel", "person", "place")
    )
    messages: Table[ChatMessageId, ChatMessage] = table("CHMSG", "message", index=("channel", "parent", "words"))
    pins: Table[ChatPinId, ChatPin] = table("CHPIN", "pin", index=("channel", "message"))
    reactions: Table[ChatReactionId, ChatReaction] = table("CHRX", "reaction", index=("message",))

    @property
    def me(self) -> EmailAddress:
        """The user's id."""
        return cast(self.seed, 1)[0].id

    def membership(self, channel: ChatChannelId, person: EmailAddress) -> ChatMembership | None:
        return next(iter(self.memberships.where(place=place(channel, person))), None)

    def message(self, id: ChatMessageId) -> ChatMessage:
        """Return the message if it is posted by now; otherwise raise NotFound."""
        row = self.messages[id]
        if row.at > self.now:
            raise NotFound(f"There is no message {id}.")
        return row

    def list_channel_messages(self, channel: ChatChannelId) -> list[ChatMessage]:
        """Return the messages of a channel that are posted by now, replies included, oldest first."""
        return self.filter_posted_messages(self.messages.where(channel=channel))

    def replies(self, parent: ChatMessageId) -> list[ChatMessage]:
        """Return the replies to a message that are posted by now, oldest first."""
        return self.filter_posted_messages(self.messages.where(parent=parent))

    def filter_posted_messages(self, messages: list[ChatMessage]) -> list[ChatMessage]:
        """Return those of the messages that are posted by now, oldest first."""
        now = self.now
        return sorted([row for row in messages if row.at <= now], key=attrgetter("at"))

    def unread(self, channel: ChatChannelId) -> list[ChatMessage]:
        """Return what others posted since the user last read a channel, without deleted messages.

        The list is empty if the user is not a member.
        """
        mine = self.membership(channel, self.me)
        if mine is None:
            return []
        me, since, now = self.me, mine.read_until, self.now
        rows = self.messages.where(channel=channel)
        return [row for row in rows if since < row.at <= now and row.author != me and row.deleted is None]

    def mark_read(self, channel: ChatChannelId) -> None:
        """Mark all of a channel as read, including messages that arrive in the minute that reading takes."""
        mine = self.membership(channel, self.me)
        if mine is not None:
            self.memberships.change(mine.id, read_until=self.now + MINUTE)

    def mentions(self, messages: list[ChatMessage]) -> int:
        """Count the messages that mention the user, by handle or as part of the whole channel."""
        names = {"@channel", f"@{self.people[self.me].handle}"}
        return sum(not names.isdisjoint(row.mentioned) for row in messages)


def place(channel: ChatChannelId, person: EmailAddress) -> str:
    """Return the key that finds the membership of a person in a channel."""
    return f"{channel} {person}"


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case, without duplicates."""
    return tuple(dict.fromkeys(WORD.findall(text.casefold())))
