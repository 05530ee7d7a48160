"""Tools on channels: find, read, create, join and leave them, add people."""

from __future__ import annotations

from itertools import islice

from ..kit import ToolError
from ..people import EmailAddress
from .parameters import (
    ROWS,
    AskedName,
    AskedScope,
    AskedThread,
    AskedVisibility,
    ChannelName,
    ChannelRef,
    Limit,
    MemberRef,
    MembershipAction,
    Topic,
)
from .rules import active, joined, readable, require_active
from .server import server
from .state import GENERAL, Chat, ChatChannel, ChatChannelId, ChatMembership
from .views import ChannelLine, ChannelReading, channel_line, reading


@server.read()
def find_chat_channels(
    chat: Chat, name: AskedName = None, scope: AskedScope = None, limit: Limit = None
) -> tuple[ChannelLine, ...]:
    """Find chat channels with what is unread in yours."""
    wanted = (name or "").casefold().removeprefix("#")
    rows = (row for row in chat.channels if wanted in row.name and in_scope(chat, row, scope))
    return tuple(channel_line(chat, row) for row in islice(rows, limit or ROWS))


def in_scope(chat: Chat, channel: ChatChannel, scope: str | None) -> bool:
    if scope is None:
        return True
    if scope == "archived":
        return channel.archived
    if scope == "unread":
        return bool(chat.unread(channel.id))
    inside = chat.membership(channel.id, chat.me) is not None
    return inside if scope == "joined" else not inside and not channel.archived and channel.visibility == "public"


@server.read()
def read_chat_channel(
    chat: Chat, channel: ChannelRef, thread: AskedThread = None, limit: Limit = None
) -> ChannelReading:
    """Read a channel: topic, members, pins and newest messages, or one thread."""
    row = readable(chat, channel)
    if thread is None:
        messages = [one for one in chat.said(channel) if one.parent is None]
    else:
        start = chat.message(thread)
        if start.channel != channel:
            raise ToolError("other_channel", f"{thread} is in another channel; name a message of {row.name}.")
        messages = [start, *chat.replies(thread)]
    return reading(chat, row, messages, limit or ROWS)


@server.write(idempotent=True)
def create_chat_channel(
    chat: Chat, name: ChannelName, visibility: AskedVisibility = None, topic: Topic = None
) -> ChannelLine:
    """Create a chat channel with you as its first member."""
    known = chat.channels.where(name=name)
    if known:
        raise ToolError("name_taken", f"{known[0].id} is named {name} already; choose another name.")
    row = chat.channels.put(
        ChatChannel(id=chat.channels.new_id(), name=name, topic=topic or "", visibility=visibility or "public")
    )
    enter(chat, row.id, chat.me)
    return channel_line(chat, row)


def enter(chat: Chat, channel: ChatChannelId, person: EmailAddress) -> None:
    """Make somebody a member, to whom all that was said before counts as read."""
    id = chat.memberships.new_id()
    chat.memberships.put(ChatMembership(id=id, channel=channel, person=person, joined=chat.now, read_until=chat.now))


@server.write(idempotent=True)
def update_chat_membership(chat: Chat, channel: ChannelRef, action: MembershipAction) -> ChannelLine:
    """Join or leave a chat channel, or mark all in it as read."""
    if action == "join":
        join(chat, channel)
    elif action == "leave":
        leave(chat, channel)
    else:
        row = joined(chat, channel)
        if not chat.unread(channel):
            raise ToolError("nothing_unread", f"Nothing is unread in {row.name}; there is nothing left to do.")
        chat.mark_read(channel)
    return channel_line(chat, chat.channels[channel])


def join(chat: Chat, id: ChatChannelId) -> None:
    channel = readable(chat, id)
    if chat.membership(id, chat.me):
        raise ToolError("already_member", f"You are in the channel {channel.name} already; nothing is left to do.")
    require_active(channel)
    enter(chat, id, chat.me)


def leave(chat: Chat, id: ChatChannelId) -> None:
    channel = active(chat, id)
    if channel.name == GENERAL:
        raise ToolError("required_channel", f"Everybody stays in the channel {GENERAL}; leave another one.")
    members = chat.memberships.where(channel=id)
    if len(members) == 1:
        raise ToolError("last_member", f"You are the last member of {channel.name}; add somebody before you leave.")
    for member in members:
        if member.person == chat.me:
            chat.memberships.remove(member.id)


@server.write(idempotent=True)
def add_chat_member(chat: Chat, channel: ChannelRef, member: MemberRef) -> ChannelReading:
    """Add a person of the team to a chat channel you are in."""
    row, person = active(chat, channel), chat.people[member]
    if chat.membership(channel, member):
        raise ToolError("already_member", f"{person.name} is in {row.name} already; add somebody else.")
    enter(chat, channel, member)
    members = len(chat.memberships.where(channel=channel))
    return reading(chat, row, [], members)
