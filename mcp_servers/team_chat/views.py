"""Result types and serializers for channels and messages."""

from __future__ import annotations

from ..core import Entity, Minute
from ..shared.people import EmailAddress
from .state import Chat, ChatChannel, ChatChannelId, ChatMessage, ChatMessageId, Emoji, Visibility


class ChannelLine(Entity):
    """A channel in a list; only of channels the user is in are unread messages and mentions counted."""

    __label__ = "the {name} channel"
    id: ChatChannelId
    name: str
    visibility: Visibility
    archived: bool
    joined: bool
    unread: int | None = None
    mentions: int | None = None


class EmojiCount(Entity):
    """How many people reacted with an emoji."""

    emoji: Emoji
    count: int


class MessageLine(Entity):
    """A message; one that is deleted shows no text, one that began a thread the number of replies."""

    __label__ = "the message {text}"
    id: ChatMessageId
    author: EmailAddress
    name: str
    at: Minute
    text: str | None = None
    channel: ChatChannelId | None = None
    thread: ChatMessageId | None = None
    replies: int | None = None
    locked: bool | None = None
    pinned: bool | None = None
    edited: Minute | None = None
    deleted: Minute | None = None
    reactions: tuple[EmojiCount, ...] | None = None


class Member(Entity):
    """Somebody in a channel."""

    __label__ = "{name}"
    id: EmailAddress
    name: str
    handle: str


class ChannelReading(Entity):
    """What a channel is about, who is in it, and what was said or is pinned there."""

    __label__ = "the {name} channel"
    id: ChatChannelId
    name: str
    topic: str
    visibility: Visibility
    archived: bool
    member_count: int
    members: tuple[Member, ...]
    messages: tuple[MessageLine, ...]
    pinned: tuple[ChatMessageId, ...] | None = None
    unread: int | None = None


def channel_line(chat: Chat, row: ChatChannel) -> ChannelLine:
    inside = chat.membership(row.id, chat.me) is not None
    unread = chat.unread(row.id)
    return ChannelLine.from_row(
        row, joined=inside, unread=len(unread) if inside else None, mentions=chat.mentions(unread) if inside else None
    )


def message_line(chat: Chat, row: ChatMessage, channel: bool = False) -> MessageLine:
    gone = row.deleted is not None
    return MessageLine.from_row(
        row,
        name=chat.people[row.author].name,
        text=None if gone else row.text,
        channel=row.channel if channel else None,
        thread=row.parent,
        replies=sum(reply.at <= chat.now for reply in chat.messages.where(parent=row.id)) or None,
        locked=row.locked or None,
        pinned=bool(chat.pins.where(message=row.id)) or None,
        reactions=counts(chat, row) or None,
    )


def counts(chat: Chat, row: ChatMessage) -> tuple[EmojiCount, ...]:
    """Return the number of reactions to a message by emoji, in the order in which the emojis were first used."""
    emojis = [reaction.emoji for reaction in chat.reactions.where(message=row.id)]
    return tuple([EmojiCount(emoji=emoji, count=emojis.count(emoji)) for emoji in dict.fromkeys(emojis)])


def build_channel_reading(chat: Chat, row: ChatChannel, messages: list[ChatMessage], limit: int) -> ChannelReading:
    """Return a channel with at most `limit` of its members and the newest `limit` of these messages."""
    memberships = chat.memberships.where(channel=row.id)
    people = (chat.people[one.person] for one in memberships[:limit])
    return ChannelReading.from_row(
        row,
        member_count=len(memberships),
        members=tuple(Member.from_row(one) for one in people),
        messages=tuple(message_line(chat, one) for one in messages[-limit:]),
        pinned=tuple(pin.message for pin in chat.pins.where(channel=row.id)) or None,
        unread=len(chat.unread(row.id)) if chat.membership(row.id, chat.me) else None,
    )
