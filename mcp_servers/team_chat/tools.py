"""The server object of the team chat, its parameter types and its tools."""

from __future__ import annotations

from itertools import islice
from operator import attrgetter
from typing import Annotated, Literal

from pydantic import Field

from ..core import ObservedField, Server, ToolError, minute_text
from ..shared.people import EmailAddress
from .seed import seed
from .state import (
    EDIT_WINDOW,
    GENERAL,
    MOST_PINS,
    Chat,
    ChatChannel,
    ChatChannelId,
    ChatMembership,
    ChatMessage,
    ChatMessageId,
    ChatPin,
    ChatReaction,
    Emoji,
    Visibility,
    words_of,
)
from .views import ChannelLine, ChannelReading, MessageLine, build_channel_reading, channel_line, message_line

server = Server("team_chat", "Talk with the team in channels and threads, react, pin and search.", seed)


TEXTS = [
    "Can somebody review my change", "Coffee in five minutes", "Could we move the demo to Thursday",
    "Here are my notes from the call", "I am out on Friday afternoon", "I will take care of it",
    "Lunch at the market today", "Please test the new build", "Sounds good to me",
    "Thanks everybody for the quick help", "The build is green again", "The client has said yes",
    "The printer on the second floor works again", "The slides are in the shared folder", "We ship on Wednesday",
    "Welcome to the team", "Who has the key to the meeting room", "Working from home today",
]  # fmt: skip
NAMES = [
    "book-club", "bug-hunt", "carpool", "coffee", "customer-voice", "demo-day", "hiring-2", "ideas", "incident-room",
    "lunch-crew", "new-office", "offsite", "onboarding-help", "plant-care", "quick-wins", "release-train",
    "running-club", "standup-notes", "summer-party", "website-refresh",
]  # fmt: skip
TOPICS = [
    "Everything about the move", "Small wins of the week", "Questions of newcomers", "What customers tell us",
    "Plans for the summer", "Who drives when", "Notes nobody should lose", "Bugs worth a prize", "Food near the office",
    "Preparing the next release", "Photos and links", "Decisions and who made them",
]  # fmt: skip
QUERIES = [
    "demo", "build", "lunch", "review", "friday", "release", "notes", "client", "budget", "server", "thanks",
    "draft", "team meeting",
]  # fmt: skip

ChannelRef = Annotated[ChatChannelId, Field(description="Id of a chat channel")]
MessageRef = Annotated[ChatMessageId, Field(description="Id of a chat message")]
OwnMessageRef = Annotated[ChatMessageId, Field(description="Id of one of your own chat messages")]
ThreadRef = Annotated[ChatMessageId | None, Field(description="Id of the message whose thread to reply in")]
ThreadParam = Annotated[ChatMessageId | None, Field(description="Only this message of the channel and its replies")]
MemberRef = Annotated[EmailAddress, Field(description="Id of a person of the team, an e-mail address")]

Text = Annotated[
    str, Field(max_length=1000, pattern=r"\S", description="Text, with @handles to mention people", examples=TEXTS)
]
ChannelName = Annotated[
    str,
    Field(
        max_length=30,
        pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$",
        description="Name of the new channel, in small letters with hyphens",
        examples=NAMES,
    ),
]
Topic = Annotated[
    str | None, Field(max_length=80, pattern=r"\S", description="What the channel is about", examples=TOPICS)
]
VisibilityParam = Annotated[Visibility | None, Field(description="Who can join, public by default")]
MembershipAction = Annotated[
    Literal["join", "leave", "catch up on"], Field(description="What to do; catch up on marks all as read")
]
PinAction = Annotated[Literal["pin", "unpin"], Field(description="What to do")]
EmojiGiven = Annotated[Emoji, Field(description="The emoji to react with")]

NameParam = Annotated[
    str | None,
    Field(max_length=30, pattern=r"\S", description="Name of the channel, or a part of it"),
    ObservedField("name"),
]
ScopeParam = Annotated[
    Literal["joined", "unread", "open", "archived"] | None,
    Field(description="Only channels you are in, with something unread, you can join, or that are archived"),
]
Query = Annotated[
    str,
    Field(max_length=80, pattern=r"[A-Za-z0-9]", description="Words that all occur in the message", examples=QUERIES),
    ObservedField("text"),
]
ChannelParam = Annotated[ChatChannelId | None, Field(description="Only messages of this channel id")]
AuthorParam = Annotated[EmailAddress | None, Field(description="Only messages of this person")]
Limit = Annotated[
    int | None,
    Field(ge=1, le=50, description="Most rows to return, 5 by default", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20]),
]

ROWS = 5


# Checks that raise errors: access to a channel, archived channels, deleted messages.


def readable(chat: Chat, id: ChatChannelId) -> ChatChannel:
    """Return the channel if the user may read it; otherwise raise ToolError."""
    channel = chat.channels[id]
    if channel.visibility == "private" and chat.membership(id, chat.me) is None:
        raise ToolError("private_channel", f"{channel.name} is private; ask one of its members to add you.")
    return channel


def require_member(chat: Chat, id: ChatChannelId) -> ChatChannel:
    """Return the channel if the user is a member; otherwise raise ToolError."""
    channel = readable(chat, id)
    if chat.membership(id, chat.me) is None:
        raise ToolError("not_a_member", f"You are not in the channel {channel.name}; join it first.")
    return channel


def active(chat: Chat, id: ChatChannelId) -> ChatChannel:
    """Return the channel if the user is a member and it is not archived; otherwise raise ToolError."""
    return require_active(require_member(chat, id))


def require_active(channel: ChatChannel) -> ChatChannel:
    if channel.archived:
        raise ToolError("channel_archived", f"The channel {channel.name} is archived; use another one.")
    return channel


def require_undeleted(chat: Chat, id: ChatMessageId) -> ChatMessage:
    """Return the message if it is not deleted and in an active channel of the user; otherwise raise ToolError."""
    row = chat.message(id)
    active(chat, row.channel)
    if row.deleted is not None:
        raise ToolError("message_deleted", f"{id} has been deleted; choose another message.")
    return row


# Tools for channels: find, read, create, join and leave them, add people.


@server.read()
def find_chat_channels(
    chat: Chat, name: NameParam = None, scope: ScopeParam = None, limit: Limit = None
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
    chat: Chat, channel: ChannelRef, thread: ThreadParam = None, limit: Limit = None
) -> ChannelReading:
    """Read a channel: topic, members, pins and newest messages, or one thread."""
    row = readable(chat, channel)
    if thread is None:
        messages = [one for one in chat.list_channel_messages(channel) if one.parent is None]
    else:
        start = chat.message(thread)
        if start.channel != channel:
            raise ToolError("other_channel", f"{thread} is in another channel; name a message of {row.name}.")
        messages = [start, *chat.replies(thread)]
    return build_channel_reading(chat, row, messages, limit or ROWS)


@server.write(idempotent=True)
def create_chat_channel(
    chat: Chat, name: ChannelName, visibility: VisibilityParam = None, topic: Topic = None
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
    """Add a member to a channel; all earlier messages count as read."""
    id = chat.memberships.new_id()
    chat.memberships.put(ChatMembership(id=id, channel=channel, person=person, joined=chat.now, read_until=chat.now))


@server.write(idempotent=True)
def update_chat_membership(chat: Chat, channel: ChannelRef, action: MembershipAction) -> ChannelLine:
    """Join or leave a chat channel, or mark all in it as read."""
    if action == "join":
        join(chat, channel)
    elif action == "leave":
        leave_channel(chat, channel)
    else:
        row = require_member(chat, channel)
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


def leave_channel(chat: Chat, id: ChatChannelId) -> None:
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
    return build_channel_reading(chat, row, [], members)


# Tools that mark messages: pins and reactions.


@server.write(idempotent=True)
def pin_chat_message(chat: Chat, message: MessageRef, action: PinAction) -> MessageLine:
    """Pin a message in its chat channel, or unpin it."""
    row, known = require_undeleted(chat, message), chat.pins.where(message=message)
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
    row = require_undeleted(chat, message)
    for known in chat.reactions.where(message=message):
        if (known.person, known.emoji) == (chat.me, emoji):
            raise ToolError("already_reacted", f"You have reacted to {message} with {emoji}; choose another emoji.")
    chat.reactions.put(ChatReaction(id=chat.reactions.new_id(), message=message, person=chat.me, emoji=emoji))
    return message_line(chat, row, channel=True)


# Tools for messages: search, post, edit and delete.


@server.read()
def search_chat(
    chat: Chat, query: Query, channel: ChannelParam = None, author: AuthorParam = None, limit: Limit = None
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
    """Raise ToolError unless a reply to this message can be posted in the channel."""
    start = chat.message(id)
    if start.channel != channel.id:
        raise ToolError("other_channel", f"{id} is in another channel; name a message of {channel.name}.")
    if start.parent is not None:
        raise ToolError("not_a_thread_start", f"{id} is a reply itself; reply in its thread, {start.parent}.")
    if start.locked:
        raise ToolError("thread_locked", f"The thread of {id} is locked; post in the channel instead.")
    if start.deleted is not None:
        raise ToolError("message_deleted", f"{id} has been deleted; choose another message.")


def require_own_message(chat: Chat, id: ChatMessageId) -> ChatMessage:
    """Return the message if it is the user's own and not deleted; otherwise raise ToolError."""
    row = require_undeleted(chat, id)
    if row.author != chat.me:
        raise ToolError(
            "not_your_message", f"{id} is a message of {chat.people[row.author].name}; you can change only your own."
        )
    return row


@server.write(idempotent=True)
def edit_chat_message(chat: Chat, message: OwnMessageRef, text: Text) -> MessageLine:
    """Edit a chat message you wrote in the last fifteen minutes."""
    row = require_own_message(chat, message)
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
    require_own_message(chat, message)
    for reaction in chat.reactions.where(message=message):
        chat.reactions.remove(reaction.id)
    for pin in chat.pins.where(message=message):
        chat.pins.remove(pin.id)
    return message_line(chat, chat.messages.change(message, deleted=chat.now), channel=True)
