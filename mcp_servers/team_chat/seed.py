"""Seeded world of the team chat: channels of all kinds, with weeks of messages."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import product
from typing import NamedTuple, TypeVar, get_args

from ..core import Draw, derive_row_id
from ..shared.people import EmailAddress, cast, get_start_time
from .state import (
    GENERAL,
    MOST_PINS,
    Chat,
    ChatChannel,
    ChatChannelId,
    ChatMembership,
    ChatMessage,
    ChatPerson,
    ChatPin,
    ChatReaction,
    Emoji,
)

# The words that seeded channels and messages are made of.

FIRST_WORDS = (
    "api", "billing", "brand", "budget", "data", "design", "events", "finance", "growth", "hiring", "infra", "legal",
    "mobile", "office", "ops", "press", "product", "research", "sales", "security", "support", "travel", "web",
)  # fmt: skip
LAST_WORDS = ("chat", "desk", "help", "news", "plans", "reviews", "team", "watch")
CHANNELS = (*FIRST_WORDS, *(f"{first}-{last}" for first, last in product(FIRST_WORDS, LAST_WORDS)))
ABOUT = (
    "Questions and answers about {name}", "Plans for {name} this quarter", "All about {name}",
    "Who does what in {name}", "News from {name}", "Help with {name}",
)  # fmt: skip

THINGS = (
    "login page", "invoice template", "price list", "landing page", "onboarding guide", "test server", "press kit",
    "travel policy", "road map", "sales deck", "survey", "backup script", "customer list", "holiday rota",
    "coffee machine", "release notes", "security audit", "newsletter", "meeting room", "search index", "mobile app",
    "budget draft", "contract", "hiring plan", "dashboard", "payment form", "photo archive", "style guide",
    "parking permit", "team calendar",
)  # fmt: skip
FORMS = (
    "The {thing} is done", "Can somebody look at the {thing}", "Who owns the {thing}", "I have updated the {thing}",
    "We should talk about the {thing}", "The {thing} is broken", "Feedback on the {thing} is welcome",
    "Here is the new {thing}", "Has anybody seen the {thing}", "The client asked about the {thing}",
    "I am working on the {thing}", "Please leave the {thing} alone", "The {thing} needs an owner",
)  # fmt: skip
ENDINGS = ("", " today", " before lunch", " by Friday", " once more", " this week", " for the demo", " again")
TEXTS = tuple(form.format(thing=thing) + ending for form, thing, ending in product(FORMS, THINGS, ENDINGS))


Id = TypeVar("Id", bound=str)
EMOJIS: tuple[Emoji, ...] = get_args(Emoji)
KINDS = ("general", "mine", "open", "private", "closed", "archived")


class Size(NamedTuple):
    """How many rows a world has; `rounds` is how many channels there are of each kind but general."""

    people: int
    rounds: int
    messages: int
    coming: int
    reactions: int
    pins: int
    days: int


SIZES = {
    "small": Size(6, 1, 12, 4, 5, 2, days=4),
    "default": Size(16, 3, 170, 8, 70, 9, days=20),
    "large": Size(60, 9, 2600, 30, 1400, 60, days=120),
}


def seed(seed: int, size: str) -> Chat:
    """Return the team chat of this seed; `size` is small, default or large."""
    chat, draw, scale = Chat(seed, get_start_time(seed)), Draw("team_chat", seed, size), SIZES[size]
    if size == "large":
        chat.messages.width = chat.reactions.width = 6
    for person in cast(seed, scale.people):
        chat.people.put(ChatPerson(id=person.id, name=person.name, handle=person.name.lower().replace(" ", ".")))
    members = put_channels(chat, draw, scale)
    put_messages(chat, draw, scale, members)
    chat.settle()
    age_messages(chat, draw)
    put_reactions(chat, draw, scale, members)
    put_pins(chat, draw, scale, members)
    return chat


def put_channels(chat: Chat, draw: Draw, scale: Size) -> dict[ChatChannelId, list[EmailAddress]]:
    """Add channels that the user is in, can join, cannot join or finds archived; return the members of each."""
    others, members = [row.id for row in chat.people][1:], dict[ChatChannelId, list[EmailAddress]]()
    kinds = ["general", *draw.shuffle_items([kind for kind in KINDS[1:] for _ in range(scale.rounds)])]
    names = [GENERAL, *draw.sample(CHANNELS, len(kinds) - 1)]
    for kind, name in zip(kinds, names, strict=True):
        channel = chat.channels.put(
            ChatChannel(
                id=derive_row_id(chat.channels, name),
                name=name,
                topic=draw.choice(ABOUT).format(name=name),
                visibility="private" if kind in ("private", "closed") else "public",
                archived=kind == "archived",
            )
        )
        inside = draw.sample(others, draw.integer(1, min(9, len(others) - 2))) if kind != "general" else others
        if kind not in ("open", "closed"):
            inside = [chat.me] if kind == "private" and draw.chance(0.3) else draw.shuffle_items([chat.me, *inside])
        members[channel.id] = inside
        put_members(chat, draw, channel.id, inside, scale.days)
    return members


def put_members(chat: Chat, draw: Draw, channel: ChatChannelId, people: list[EmailAddress], days: int) -> None:
    for person in people:
        chat.memberships.put(
            ChatMembership(
                id=derive_row_id(chat.memberships, (channel, person)),
                channel=channel,
                person=person,
                joined=chat.now - timedelta(days=days + draw.integer(1, 200)),
                read_until=chat.now - timedelta(minutes=draw.integer(0, days * 700)),
            )
        )


def put_messages(chat: Chat, draw: Draw, scale: Size, members: dict[ChatChannelId, list[EmailAddress]]) -> None:
    """Add messages in chronological order, some minutes old and some not posted yet; one in three is a reply."""
    texts, channels = draw.shuffle_items(TEXTS), list(members)
    handles = [row.handle for row in chat.people]
    talk: dict[ChatChannelId, list[ChatMessage]] = {id: [] for id in channels}
    for number, at in enumerate(moments(chat.now, draw, scale)):
        channel = draw.choice([id for id in channels if at < chat.now - timedelta(days=1) or not is_archived(chat, id)])
        author = draw.choice(members[channel])
        mention = draw.choice(("@channel", f"@{draw.choice(handles)}")) + " " if draw.chance(0.15) else ""
        parents = [row for row in talk[channel] if row.parent is None][-6:]
        message = chat.messages.put(
            ChatMessage(
                id=derive_row_id(chat.messages, number),
                channel=channel,
                author=chat.me if chat.me in members[channel] and draw.chance(0.2) else author,
                text=mention + texts[number % len(texts)],
                at=at,
                parent=draw.choice(parents).id if parents and draw.chance(0.35) else None,
            )
        )
        talk[channel].append(message)


def is_archived(chat: Chat, id: ChatChannelId) -> bool:
    return chat.channels[id].archived


def moments(now: datetime, draw: Draw, scale: Size) -> list[datetime]:
    """Return the posting times in order: most on past days, `coming` in the last minutes and as many in the future."""
    past = [
        now - timedelta(days=draw.integer(0, scale.days), minutes=draw.integer(30, 600)) for _ in range(scale.messages)
    ]
    fresh = [now - timedelta(minutes=draw.integer(1, 12)) for _ in range(scale.coming)]
    return (
        sorted(past) + sorted(fresh) + sorted(now + timedelta(minutes=draw.integer(1, 30)) for _ in range(scale.coming))
    )


def age_messages(chat: Chat, draw: Draw) -> None:
    """Edit, delete or lock some messages; give the user's future messages to other authors, or remove them."""
    for row in list(chat.messages):
        if row.at > chat.now:
            if row.author == chat.me:
                others = [one.person for one in chat.memberships.where(channel=row.channel) if one.person != chat.me]
                chat.messages.remove(row.id) if not others else chat.messages.change(row.id, author=draw.choice(others))
        elif draw.chance(0.06):
            chat.messages.change(row.id, deleted=min(chat.now, row.at + timedelta(minutes=draw.integer(1, 90))))
        elif draw.chance(0.08):
            earlier = row.text.replace("the ", "that ", 1)
            edited = min(chat.now, row.at + timedelta(minutes=draw.integer(1, 15)))
            if earlier != row.text:
                chat.messages.put(replace(row, earlier=(earlier,), edited=edited))
        elif (
            row.parent is None
            and draw.chance(0.12)
            and all(one.at <= chat.now for one in chat.messages.where(parent=row.id))
        ):
            chat.messages.change(row.id, locked=True)


def put_reactions(chat: Chat, draw: Draw, scale: Size, members: dict[ChatChannelId, list[EmailAddress]]) -> None:
    posts = list_visible_messages(chat)
    drawn = [
        (post, draw.choice(members[post.channel]), draw.choice(EMOJIS))
        for post in (draw.choice(posts) for _ in range(scale.reactions))
    ]
    for id, person, emoji in dict.fromkeys((post.id, person, emoji) for post, person, emoji in drawn):
        mark = (id, person, emoji)
        chat.reactions.put(ChatReaction(id=derive_row_id(chat.reactions, mark), message=id, person=person, emoji=emoji))


def list_visible_messages(chat: Chat) -> list[ChatMessage]:
    return [row for row in chat.messages if row.at <= chat.now and row.deleted is None]


def put_pins(chat: Chat, draw: Draw, scale: Size, members: dict[ChatChannelId, list[EmailAddress]]) -> None:
    pinned = Counter[ChatChannelId]()
    for post in draw.sample(list_visible_messages(chat), scale.pins):
        if pinned[post.channel] < MOST_PINS:
            pinned[post.channel] += 1
            by = draw.choice(members[post.channel])
            chat.pins.put(ChatPin(id=derive_row_id(chat.pins, post.id), channel=post.channel, message=post.id, by=by))
