"""When the team chat refuses: whose channel it is, whether it is archived, whether a message is still there."""

from __future__ import annotations

from ..kit import ToolError
from .state import Chat, ChatChannel, ChatChannelId, ChatMessage, ChatMessageId


def readable(chat: Chat, id: ChatChannelId) -> ChatChannel:
    """The channel, which the user may read. Raises ToolError otherwise."""
    channel = chat.channels[id]
    if channel.visibility == "private" and chat.membership(id, chat.me) is None:
        raise ToolError("private_channel", f"{channel.name} is private; ask one of its members to add you.")
    return channel


def joined(chat: Chat, id: ChatChannelId) -> ChatChannel:
    """The channel, of which the user is a member. Raises ToolError otherwise."""
    channel = readable(chat, id)
    if chat.membership(id, chat.me) is None:
        raise ToolError("not_a_member", f"You are not in the channel {channel.name}; join it first.")
    return channel


def active(chat: Chat, id: ChatChannelId) -> ChatChannel:
    """The channel, which is the user's and not archived. Raises ToolError otherwise."""
    return require_active(joined(chat, id))


def require_active(channel: ChatChannel) -> ChatChannel:
    if channel.archived:
        raise ToolError("channel_archived", f"The channel {channel.name} is archived; use another one.")
    return channel


def living(chat: Chat, id: ChatMessageId) -> ChatMessage:
    """The message, which is not deleted, in an active channel of the user's. Raises ToolError otherwise."""
    row = chat.message(id)
    active(chat, row.channel)
    if row.deleted is not None:
        raise ToolError("message_deleted", f"{id} has been deleted; choose another message.")
    return row
