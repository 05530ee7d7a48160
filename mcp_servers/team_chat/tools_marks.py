"""Tools that mark messages: pins for the channel, reactions for the author."""

from __future__ import annotations

from ..kit import ToolError
from .parameters import EmojiGiven, MessageRef, PinAction
from .rules import living
from .server import server
from .state import MOST_PINS, Chat, ChatPin, ChatReaction
from .views import MessageLine, message_line


@server.write(idempotent=True)
def pin_chat_message(chat: Chat, message: MessageRef, action: PinAction) -> MessageLine:
    """Pin a message in its chat channel, or unpin it."""
    row, known = living(chat, message), chat.pins.where(message=message)
    if action == "pin":
        if known:
            raise ToolError("already_pinned", f"{message} is pinned already; nothing is left to do.")
        if len(chat.pins.where(channel=row.channel)) >= MOST_PINS:
            raise ToolError("pin_limit", f"A channel has {MOST_PINS} pinned messages at most; unpin one first.")
        chat.pins.put(ChatPin(id=chat.pins.new_id(), channel=row.channel, message=message, by=chat.me))
    elif not known:
        raise ToolError("not_pinned", f"{message} is not pinned; nothing is left to do.")
    else:
        chat.pins.remove(known[0].id)
    return message_line(chat, row, channel=True)


@server.write(idempotent=True)
def react_to_chat_message(chat: Chat, message: MessageRef, emoji: EmojiGiven) -> MessageLine:
    """React to a chat message with an emoji."""
    row = living(chat, message)
    for known in chat.reactions.where(message=message):
        if (known.person, known.emoji) == (chat.me, emoji):
            raise ToolError("already_reacted", f"You have reacted to {message} with {emoji}; choose another emoji.")
    chat.reactions.put(ChatReaction(id=chat.reactions.new_id(), message=message, person=chat.me, emoji=emoji))
    return message_line(chat, row, channel=True)
