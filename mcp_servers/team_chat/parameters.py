"""What the parameters of the team chat's tools take, described once for all of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..kit import Seen
from ..people import EmailAddress
from .state import ChatChannelId, ChatMessageId, Emoji, Visibility

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
AskedThread = Annotated[ChatMessageId | None, Field(description="Only this message of the channel and its replies")]
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
AskedVisibility = Annotated[Visibility | None, Field(description="Who can join, public by default")]
MembershipAction = Annotated[
    Literal["join", "leave", "catch up on"], Field(description="What to do; catch up on marks all as read")
]
PinAction = Annotated[Literal["pin", "unpin"], Field(description="What to do")]
EmojiGiven = Annotated[Emoji, Field(description="The emoji to react with")]

AskedName = Annotated[
    str | None, Field(max_length=30, pattern=r"\S", description="Name of the channel, or a part of it"), Seen("name")
]
AskedScope = Annotated[
    Literal["joined", "unread", "open", "archived"] | None,
    Field(description="Only channels you are in, with something unread, you can join, or that are archived"),
]
Query = Annotated[
    str,
    Field(max_length=80, pattern=r"[A-Za-z0-9]", description="Words that all occur in the message", examples=QUERIES),
    Seen("text"),
]
AskedChannel = Annotated[ChatChannelId | None, Field(description="Only messages of this channel id")]
AskedAuthor = Annotated[EmailAddress | None, Field(description="Only messages of this person")]
Limit = Annotated[
    int | None,
    Field(ge=1, le=50, description="Most rows to return, 5 by default", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20]),
]

ROWS = 5
