"""Tools on messages: post, edit and delete them, and find them by their words."""

from __future__ import annotations

from itertools import islice
from operator import attrgetter

from ..kit import ToolError, minute_text
from .parameters import ROWS, AskedAuthor, AskedChannel, ChannelRef, Limit, OwnMessageRef, Query, Text, ThreadRef
from .rules import active, living, readable
from .server import server
from .state import EDIT_WINDOW, Chat, ChatChannel, ChatMessage, ChatMessageId, words_of
from .views import MessageLine, message_line


@server.read()
def search_chat(
    chat: Chat, query: Query, channel: AskedChannel = None, author: AskedAuthor = None, limit: Limit = None
) -> tuple[MessageLine, ...]:
    """Search the channels you can read for messages with all these words, newest first."""
    place = None if channel is None else readable(chat, channel).id
    writer = None if author is None else chat.people[author].id
    words = words_of(query)
    found = sorted(chat.messages.where(words=words[0]), key=attrgetter("at", "id"), reverse=True)
    rows = (
        row
        for row in found
        if row.at <= chat.now
        and all(word in row.words for word in words)
        and place in (None, row.channel)
        and writer in (None, row.author)
        and may_read(chat, chat.channels[row.channel])
    )
    return tuple(message_line(chat, row, channel=True) for row in islice(rows, limit or ROWS))


def may_read(chat: Chat, channel: ChatChannel) -> bool:
    return channel.visibility == "public" or chat.membership(channel.id, chat.me) is not None


@server.write()
def post_chat_message(chat: Chat, channel: ChannelRef, text: Text, thread: ThreadRef = None) -> MessageLine:
    """Post a message in a chat channel, or in a thread of it."""
    row = active(chat, channel)
    if thread is not None:
        require_thread(chat, row, thread)
    message = ChatMessage(
        id=chat.messages.new_id(), channel=channel, author=chat.me, text=text, at=chat.now, parent=thread
    )
    chat.mark_read(channel)
    return message_line(chat, chat.messages.put(message), channel=True)


def require_thread(chat: Chat, channel: ChatChannel, id: ChatMessageId) -> None:
    """Raises ToolError unless a reply to this message can be posted in the channel."""
    start = chat.message(id)
    if start.channel != channel.id:
        raise ToolError("other_channel", f"{id} is in another channel; name a message of {channel.name}.")
    if start.parent is not None:
        raise ToolError("not_a_thread_start", f"{id} is a reply itself; reply in its thread, {start.parent}.")
    if start.locked:
        raise ToolError("thread_locked", f"The thread of {id} is locked; post in the channel instead.")
    if start.deleted is not None:
        raise ToolError("message_deleted", f"{id} has been deleted; choose another message.")


def own(chat: Chat, id: ChatMessageId) -> ChatMessage:
    """The message, which is the user's and still there. Raises ToolError otherwise."""
    row = living(chat, id)
    if row.author != chat.me:
        raise ToolError(
            "not_your_message", f"{id} is a message of {chat.people[row.author].name}; you can change only your own."
        )
    return row


@server.write(idempotent=True)
def edit_chat_message(chat: Chat, message: OwnMessageRef, text: Text) -> MessageLine:
    """Edit a chat message you wrote in the last fifteen minutes."""
    row = own(chat, message)
    if chat.now > row.at + EDIT_WINDOW:
        raise ToolError(
            "edit_window_passed",
            f"{message} could be edited until {minute_text(row.at + EDIT_WINDOW)}; post a new one.",
        )
    if text == row.text:
        raise ToolError("text_unchanged", f"{message} says that already; give another text.")
    row = chat.messages.change(message, text=text, earlier=(*row.earlier, row.text), edited=chat.now)
    return message_line(chat, row, channel=True)


@server.write(destructive=True, idempotent=True)
def delete_chat_message(chat: Chat, message: OwnMessageRef) -> MessageLine:
    """Delete a chat message of yours with its reactions and pin; replies stay."""
    own(chat, message)
    for reaction in chat.reactions.where(message=message):
        chat.reactions.remove(reaction.id)
    for pin in chat.pins.where(message=message):
        chat.pins.remove(pin.id)
    return message_line(chat, chat.messages.change(message, deleted=chat.now), channel=True)
