"""What the team chat does and refuses, checked through its own tools in small worlds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from calling import change_state, do, find_row, refused

from mcp_servers.core import Session, minute_text
from mcp_servers.team_chat import server
from mcp_servers.team_chat.state import Chat, ChatChannel, ChatMessage

Test = Callable[[Chat, ChatMessage], bool]


@pytest.fixture
def chat() -> Session[Chat]:
    return server.open(7, "small")


def world(test: Test) -> tuple[Session[Chat], ChatMessage]:
    """A fresh session in the first small world that has such a message, and the message."""
    return find_row(server, "messages", test)


def usable(chat: Chat, row: ChatMessage) -> bool:
    """A message that is there, in an active channel of the user's."""
    inside = chat.membership(row.channel, chat.me) is not None and not chat.channels[row.channel].archived
    return inside and row.at <= chat.now and row.deleted is None


def channel(
    session: Session[Chat], joined: bool = True, visibility: str = "public", archived: bool = False
) -> ChatChannel:
    """The newest channel of this kind that is not general."""
    state = session.state
    return next(
        row
        for row in state.channels
        if row.name != "general"
        and (state.membership(row.id, state.me) is not None) == joined
        and (row.visibility, row.archived) == (visibility, archived)
    )


def general(session: Session[Chat]) -> str:
    return str(session.state.channels.where(name="general")[0].id)


def posted(session: Session[Chat], place: str, text: str = "Lunch at noon", **more: Any) -> str:
    return str(do(session, "post_chat_message", channel=place, text=text, **more)["id"])


def later(session: Session[Chat], **delta: int) -> datetime:
    return session.state.now + timedelta(**delta)


def written(moment: datetime) -> str:
    return minute_text(moment)


def test_a_message_is_posted_answered_edited_pinned_found_and_deleted(chat: Session[Chat]) -> None:
    place = do(chat, "create_chat_channel", name="lunch-crew", topic="Food", visibility="private")
    assert (place["joined"], place["visibility"], place["unread"], place["mentions"]) == (True, "private", 0, 0)
    start = posted(chat, place["id"], "Pasta at noon")
    reply = posted(chat, place["id"], "Count me in", thread=start)
    edited = do(chat, "edit_chat_message", message=start, text="Pizza at noon")
    assert (edited["text"], edited["edited"]) == ("Pizza at noon", written(later(chat, minutes=-1)))
    assert do(chat, "pin_chat_message", message=start, action="pin")["pinned"]
    do(chat, "react_to_chat_message", message=start, emoji="tada")
    for query in ("noon PIZZA", "pizza at noon"):
        assert [(row["id"], row["channel"]) for row in do(chat, "search_chat", query=query)] == [(start, place["id"])]
    assert do(chat, "search_chat", query="pizza at one") == []
    assert (edited["channel"], chat.state.pins.where(message=start)[0].by) == (place["id"], chat.state.me)
    assert do(chat, "search_chat", query="pasta") == []
    seen = do(chat, "read_chat_channel", channel=place["id"])
    assert (seen["topic"], seen["pinned"], seen["member_count"]) == ("Food", [start], 1)
    assert seen["messages"] == [
        {
            "id": start,
            "author": chat.state.me,
            "name": chat.state.people[chat.state.me].name,
            "at": written(later(chat, minutes=-5)),
            "text": "Pizza at noon",
            "replies": 1,
            "pinned": True,
            "edited": edited["edited"],
            "reactions": [{"emoji": "tada", "count": 1}],
        }
    ]
    gone = do(chat, "delete_chat_message", message=start)
    assert "text" not in gone and "pinned" not in gone and "reactions" not in gone and gone["deleted"]
    thread = do(chat, "read_chat_channel", channel=place["id"], thread=start)["messages"]
    assert [row["id"] for row in thread] == [start, reply] and "text" not in thread[0]
    assert do(chat, "search_chat", query="pizza") == []
    assert refused(chat, "delete_chat_message", message=start) == "message_deleted"
    assert chat.state.messages[start].earlier == ("Pasta at noon",)


def test_somebody_is_added_to_a_new_channel_which_then_can_be_left(chat: Session[Chat]) -> None:
    place = do(chat, "create_chat_channel", name="book-club")["id"]
    assert refused(chat, "create_chat_channel", name="book-club", visibility="private") == "name_taken"
    assert refused(chat, "update_chat_membership", channel=place, action="leave") == "last_member"
    person = do(chat, "read_chat_channel", channel=general(chat), limit=50)["members"]
    other = next(row for row in person if row["id"] != chat.state.me)
    inside = do(chat, "add_chat_member", channel=place, member=other["id"])
    assert [row["id"] for row in inside["members"]] == [chat.state.me, other["id"]] and inside["messages"] == []
    assert refused(chat, "add_chat_member", channel=place, member=other["id"]) == "already_member"
    assert refused(chat, "add_chat_member", channel=place, member="nobody") == "not_found"
    assert do(chat, "update_chat_membership", channel=place, action="leave")["joined"] is False
    assert refused(chat, "update_chat_membership", channel=place, action="leave") == "not_a_member"
    assert refused(chat, "add_chat_member", channel=place, member=other["id"]) == "not_a_member"
    assert do(chat, "update_chat_membership", channel=place, action="join")["unread"] == 0
    assert refused(chat, "update_chat_membership", channel=place, action="join") == "already_member"


def test_everybody_stays_in_general(chat: Session[Chat]) -> None:
    assert refused(chat, "update_chat_membership", channel=general(chat), action="leave") == "required_channel"


def test_a_public_channel_is_read_by_all_and_written_by_members(chat: Session[Chat]) -> None:
    place = channel(chat, joined=False).id
    seen = do(chat, "read_chat_channel", channel=place)
    assert "unread" not in seen
    assert refused(chat, "post_chat_message", channel=place, text="Hello") == "not_a_member"
    assert refused(chat, "update_chat_membership", channel=place, action="catch up on") == "not_a_member"
    do(chat, "update_chat_membership", channel=place, action="join")
    posted(chat, place)


def test_a_private_channel_is_closed_to_everybody_else() -> None:
    session, message = world(
        lambda chat, row: (
            chat.channels[row.channel].visibility == "private"
            and chat.membership(row.channel, chat.me) is None
            and row.at <= chat.now
            and row.deleted is None
        )
    )
    place = message.channel
    assert refused(session, "read_chat_channel", channel=place) == "private_channel"
    assert refused(session, "update_chat_membership", channel=place, action="join") == "private_channel"
    assert refused(session, "post_chat_message", channel=place, text="Hello") == "private_channel"
    assert refused(session, "search_chat", query="the", channel=place) == "private_channel"
    assert refused(session, "react_to_chat_message", message=message.id, emoji="eyes") == "private_channel"
    assert message.id not in [row["id"] for row in do(session, "search_chat", query=message.text, limit=50)]
    line = next(row for row in do(session, "find_chat_channels", limit=50) if row["id"] == place)
    assert not line["joined"] and "unread" not in line and "mentions" not in line


def test_in_an_archived_channel_nothing_changes() -> None:
    session, message = world(
        lambda chat, row: chat.channels[row.channel].archived and row.author == chat.me and row.deleted is None
    )
    place = message.channel
    assert do(session, "read_chat_channel", channel=place)["archived"]
    other = next(row.id for row in session.state.people if not session.state.membership(place, row.id))
    for tool, arguments in (
        ("post_chat_message", {"channel": place, "text": "Hello"}),
        ("add_chat_member", {"channel": place, "member": other}),
        ("update_chat_membership", {"channel": place, "action": "leave"}),
        ("pin_chat_message", {"message": message.id, "action": "pin"}),
        ("react_to_chat_message", {"message": message.id, "emoji": "heart"}),
        ("edit_chat_message", {"message": message.id, "text": "Hello"}),
        ("delete_chat_message", {"message": message.id}),
    ):
        assert refused(session, tool, **arguments) == "channel_archived"
    assert place in [row["id"] for row in do(session, "find_chat_channels", scope="archived")]
    name = session.state.channels[place].name
    assert refused(session, "create_chat_channel", name=name) == "name_taken"


def test_an_archived_channel_is_not_joined() -> None:
    session, message = world(
        lambda chat, row: (
            chat.channels[row.channel].visibility == "public" and chat.membership(row.channel, chat.me) is None
        )
    )
    state = session.state.draft()
    state.channels.change(message.channel, archived=True)
    closed = Session.start(server, state)
    assert refused(closed, "update_chat_membership", channel=message.channel, action="join") == "channel_archived"


def test_an_archived_channel_can_still_be_caught_up_on() -> None:
    session, message = find_row(
        server,
        "messages",
        lambda chat, row: (
            chat.channels[row.channel].archived
            and chat.membership(row.channel, chat.me) is not None
            and row.author != chat.me
            and row.deleted is None
        ),
    )
    place = session.state.channels[message.channel]
    mine, since = session.state.membership(place.id, session.state.me), message.at - timedelta(minutes=1)
    change_state(session, lambda chat: chat.memberships.change(mine.id, joined=since, read_until=since))
    assert session.state.unread(place.id)
    assert do(session, "update_chat_membership", channel=place.id, action="catch up on")["unread"] == 0


def test_unread_messages_are_counted_until_the_channel_is_caught_up_on() -> None:
    session, message = world(lambda chat, row: usable(chat, row) and row in chat.unread(row.channel))
    place = message.channel
    unread = len(session.state.unread(place))
    assert do(session, "read_chat_channel", channel=place)["unread"] == unread
    line = next(row for row in do(session, "find_chat_channels", scope="unread") if row["id"] == place)
    assert line["unread"] == unread
    done = do(session, "update_chat_membership", channel=place, action="catch up on")
    assert (done["unread"], done["mentions"]) == (0, 0)
    assert place not in [row["id"] for row in do(session, "find_chat_channels", scope="unread", limit=50)]
    assert refused(session, "update_chat_membership", channel=place, action="catch up on") == "nothing_unread"


def test_writing_in_a_channel_reads_it() -> None:
    session, message = world(lambda chat, row: usable(chat, row) and row in chat.unread(row.channel))
    posted(session, message.channel)
    assert do(session, "read_chat_channel", channel=message.channel)["unread"] == 0


def test_mentions_are_counted_by_handle_and_for_the_entire_channel() -> None:
    for word in ("@channel", "@"):
        session, message = world(
            lambda chat, row, word=word: (
                usable(chat, row)
                and row in chat.unread(row.channel)
                and row.text.startswith(word if word != "@" else f"@{chat.people[chat.me].handle}")
            )
        )
        line = next(row for row in do(session, "find_chat_channels", limit=50) if row["id"] == message.channel)
        me = f"@{session.state.people[session.state.me].handle} "
        texts = [row.text for row in session.state.unread(message.channel)]
        assert line["mentions"] == sum(text.startswith(("@channel ", me)) for text in texts) > 0


def test_what_others_write_later_comes_when_its_time_has_come() -> None:
    session, message = world(
        lambda chat, row: row.at > chat.now and row.parent is None and chat.membership(row.channel, chat.me) is not None
    )
    place, before = message.channel, len(session.state.unread(message.channel))
    assert refused(session, "react_to_chat_message", message=message.id, emoji="eyes") == "not_found"
    assert message.id not in [row["id"] for row in do(session, "search_chat", query=message.text, limit=50)]
    assert do(session, "read_chat_channel", now=message.at, channel=place)["messages"][-1]["id"] == message.id
    assert do(session, "read_chat_channel", now=message.at, channel=place)["unread"] > before
    now = message.at
    assert message.id in [
        row["id"] for row in session.call("search_chat", {"query": message.text, "limit": 50}, now).data
    ]
    fork = session.fork()
    do(fork, "update_chat_membership", now=now - timedelta(minutes=1), channel=place, action="catch up on")
    assert do(fork, "read_chat_channel", channel=place)["unread"] == 0
    assert do(session, "react_to_chat_message", now=message.at, message=message.id, emoji="eyes")["reactions"]


def test_a_reply_needs_an_open_thread_in_its_channel(chat: Session[Chat]) -> None:
    first, second = general(chat), channel(chat).id
    start = posted(chat, first)
    reply = do(chat, "post_chat_message", channel=first, text="Me too", thread=start)
    assert reply["thread"] == start
    assert refused(chat, "post_chat_message", channel=second, text="Me too", thread=start) == "other_channel"
    assert refused(chat, "read_chat_channel", channel=second, thread=start) == "other_channel"
    assert refused(chat, "post_chat_message", channel=first, text="Me", thread=reply["id"]) == "not_a_thread_start"
    do(chat, "delete_chat_message", message=start)
    assert refused(chat, "post_chat_message", channel=first, text="Me too", thread=start) == "message_deleted"
    assert [row["id"] for row in do(chat, "read_chat_channel", channel=first, thread=start)["messages"]] == [
        start,
        reply["id"],
    ]
    assert reply["id"] not in [row["id"] for row in do(chat, "read_chat_channel", channel=first, limit=50)["messages"]]


def test_a_locked_thread_takes_no_replies() -> None:
    session, message = world(lambda chat, row: usable(chat, row) and row.locked)
    thread = {"channel": message.channel, "text": "Hello", "thread": message.id}
    assert refused(session, "post_chat_message", **thread) == "thread_locked"
    seen = do(session, "read_chat_channel", channel=message.channel, thread=message.id)["messages"]
    assert seen[0]["locked"] and "locked" not in do(session, "post_chat_message", channel=message.channel, text="Hello")


def test_a_message_is_edited_for_a_quarter_of_an_hour(chat: Session[Chat]) -> None:
    message = posted(chat, general(chat))
    assert refused(chat, "edit_chat_message", message=message, text="Lunch at noon") == "text_unchanged"
    do(chat, "edit_chat_message", now=later(chat, minutes=14), message=message, text="Lunch at one")
    assert refused(chat, "edit_chat_message", message=message, text="Lunch at two") == "edit_window_passed"
    assert do(chat, "delete_chat_message", message=message)["id"] == message


def test_only_own_messages_are_changed() -> None:
    session, message = world(lambda chat, row: usable(chat, row) and row.author != chat.me)
    assert refused(session, "edit_chat_message", message=message.id, text="Mine") == "not_your_message"
    assert refused(session, "delete_chat_message", message=message.id) == "not_your_message"


def test_a_channel_has_three_pins_at_most(chat: Session[Chat]) -> None:
    place = do(chat, "create_chat_channel", name="ideas")["id"]
    first, *rest = [posted(chat, place, f"Idea {number}") for number in range(4)]
    assert refused(chat, "pin_chat_message", message=first, action="unpin") == "not_pinned"
    for message in rest:
        do(chat, "pin_chat_message", message=message, action="pin")
    assert refused(chat, "pin_chat_message", message=rest[0], action="pin") == "already_pinned"
    assert refused(chat, "pin_chat_message", message=first, action="pin") == "pin_limit"
    assert "pinned" not in do(chat, "pin_chat_message", message=rest[0], action="unpin")
    do(chat, "pin_chat_message", message=first, action="pin")
    assert do(chat, "read_chat_channel", channel=place)["pinned"] == [*rest[1:], first]
    do(chat, "delete_chat_message", message=first)
    assert do(chat, "read_chat_channel", channel=place)["pinned"] == rest[1:]


def test_everybody_reacts_once_with_an_emoji() -> None:
    session, message = world(
        lambda chat, row: (
            usable(chat, row) and any(one.person != chat.me for one in chat.reactions.where(message=row.id))
        )
    )
    other = next(row for row in session.state.reactions.where(message=message.id) if row.person != session.state.me)
    counts = {row["emoji"]: row["count"] for row in reacted(session, message, other.emoji)}
    assert counts[other.emoji] == 2
    assert refused(session, "react_to_chat_message", message=message.id, emoji=other.emoji) == "already_reacted"


def reacted(session: Session[Chat], message: ChatMessage, emoji: str) -> Any:
    return do(session, "react_to_chat_message", message=message.id, emoji=emoji)["reactions"]


def test_a_search_keeps_to_channel_author_and_the_newest() -> None:
    session = server.open(3, "default")
    found = do(session, "search_chat", query="the", limit=50)
    assert [row["at"] for row in found] == sorted((row["at"] for row in found), reverse=True)
    place, author = found[0]["channel"], found[0]["author"]
    here = do(session, "search_chat", query="the", channel=place, limit=50)
    assert {row["channel"] for row in here} == {place} and found[0] in here
    hers = do(session, "search_chat", query="the", author=author, limit=50)
    assert {row["author"] for row in hers} == {author} and found[0] in hers
    assert len(do(session, "search_chat", query="the")) == 5
    assert refused(session, "search_chat", query="the", author="nobody") == "not_found"
    assert not any("deleted" in row for row in found)


def test_channels_are_found_by_name_and_scope(chat: Session[Chat]) -> None:
    assert [row["name"] for row in do(chat, "find_chat_channels", name="#GENERAL")] == ["general"]
    rows = do(chat, "find_chat_channels", limit=50)
    assert len(rows) == 6 and len(do(chat, "find_chat_channels")) == 5
    joined = [row for row in rows if row["joined"]]
    assert do(chat, "find_chat_channels", scope="joined", limit=50) == joined
    assert [row["id"] for row in do(chat, "find_chat_channels", scope="open")] == [channel(chat, joined=False).id]


def test_a_reading_shows_the_newest_messages_and_some_members() -> None:
    session = server.open(3, "default")
    place = general(session)
    seen = do(session, "read_chat_channel", channel=place, limit=2)
    every = do(session, "read_chat_channel", channel=place, limit=50)
    assert (len(seen["messages"]), len(seen["members"]), seen["member_count"]) == (2, 2, len(every["members"]))
    assert seen["messages"] == every["messages"][-2:] and len(every["messages"]) > 5
    assert len(do(session, "read_chat_channel", channel=place)["messages"]) == 5
    assert [row["at"] for row in every["messages"]] == sorted(row["at"] for row in every["messages"])
