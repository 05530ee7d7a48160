"""What the social network does and refuses, checked through its own tools in small worlds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from calling import change_state, do, find_row, refused, world_with

from mcp_servers.core import Session, minute_text
from mcp_servers.core.times import parse_instant
from mcp_servers.social_media import server
from mcp_servers.social_media.state import Network, SocialPost, SocialPostId, SocialProfile

Test = Callable[[Network, SocialPost], bool]


@pytest.fixture
def net() -> Session[Network]:
    return server.open(7, "small")


def world(test: Test) -> tuple[Session[Network], SocialPost]:
    """A fresh session in the first small world that has such a post, and the post."""
    return find_row(server, "posts", test)


def liked_by_nobody(net: Network, post: SocialPost) -> bool:
    """A post of somebody else that the user sees, has not touched, and may share."""
    return (
        post.author != net.me
        and net.is_published(post)
        and net.can_see(post)
        and post.repost_of is None
        and post.audience == "public"
        and not net.profiles[post.author].private
        and not net.likes.where(post=post.id, person=net.me)
    )


def open_to_all(net: Network, post: SocialPost) -> bool:
    return liked_by_nobody(net, post) and post.comments_from == "everyone"


def of_private(net: Network, post: SocialPost) -> bool:
    """Return whether the author of a visible post is private and accepts follow requests soon."""
    author = net.profiles[post.author]
    return (
        author.private
        and author.accepts_after == 4
        and net.is_published(post)
        and not net.has_block_between(net.me, author.id)
    )


def somebody(session: Session[Network], private: bool = False, relation: bool = False) -> SocialProfile:
    """Somebody the user follows, or may follow."""
    net = session.state
    return next(
        row
        for row in net.profiles
        if row.id != net.me
        and row.private == private
        and not net.has_block_between(net.me, row.id)
        and (net.follow(net.me, row.id) is not None) == relation
    )


def at(session: Session[Network], **delta: int) -> str:
    return minute_text(session.state.now + timedelta(**delta))


def later(session: Session[Network], **delta: int) -> datetime:
    return session.state.now + timedelta(**delta)


def test_a_post_is_published_edited_pinned_read_and_deleted(net: Session[Network]) -> None:
    made = do(net, "publish_post", text="Hello #Garden and #garden", comments_from="nobody")
    assert (made["hashtags"], made["comments_from"], made["audience"]) == (["garden"], "nobody", "public")
    post = made["id"]
    edited = do(net, "edit_post", post=post, text="Hello #music", comments_from="followers")
    assert (edited["text"], edited["comments_from"], edited["edited"]) == (
        "Hello #music",
        "followers",
        at(net, minutes=-1),
    )
    assert do(net, "pin_post", post=post)["pinned"]["id"] == post
    assert post in [row["id"] for row in do(net, "search_posts", hashtag="#MUSIC", limit=50)]
    assert do(net, "read_social_feed", feed="own")[0]["id"] == post
    assert do(net, "delete_post", post=post)["id"] == post
    assert refused(net, "get_post", post=post) == "not_found"
    assert "pinned" not in do(net, "get_social_profile", profile=net.state.me)


def test_a_followed_persons_posts_are_liked_answered_and_shared() -> None:
    session, post = world(open_to_all)
    author = post.author
    if session.state.follow(session.state.me, author) is None:
        do(session, "update_follow", profile=author, action="follow")
    assert post.id in [row["id"] for row in do(session, "read_social_feed", limit=50)]
    first = do(session, "comment_on_post", post=post.id, text="Count me in")
    do(session, "comment_on_post", post=post.id, text="Count me in", reply_to=first["id"])
    assert do(session, "update_like", post=post.id, action="like")["liked"]
    shared = do(session, "repost", post=post.id)
    assert (shared["repost_of"], shared["shared_text"]) == (post.id, post.text)
    seen = do(session, "get_post", post=post.id)
    assert (seen["likes"], seen["comments"], seen["reposts"]) == (
        post.likes + 1,
        post.comments + 2,
        post.reposts + 1,
    )
    assert seen["newest_comments"][-1] == {
        "id": seen["newest_comments"][-1]["id"],
        "author": session.state.me,
        "text": "Count me in",
        "at": at(session, minutes=-3),
        "reply_to": first["id"],
    }
    do(session, "delete_post", post=shared["id"])
    assert do(session, "get_post", post=post.id)["reposts"] == post.reposts


def test_deleting_a_post_takes_all_that_hangs_on_it() -> None:
    session, post = world(lambda net, row: row.author == net.me and row.comments > 0 and row.likes > 0)
    do(session, "delete_post", post=post.id)
    assert not session.state.comments.where(post=post.id) and not session.state.likes.where(post=post.id)
    session, post = world(lambda net, row: row.author == net.me and row.audience == "public" and net.is_published(row))
    somebody = next(row.id for row in session.state.profiles if row.id != post.author and not row.private)
    repost = SocialPost(id=SocialPostId("POST-0000"), author=somebody, text="", at=session.state.now, repost_of=post.id)

    def share(net: Network) -> None:
        net.posts.change(post.id, reposts=post.reposts + 1)
        net.posts.put(repost)

    change_state(session, share)
    do(session, "delete_post", post=post.id)
    assert not session.state.posts.where(repost_of=post.id)


def test_people_are_found_by_name_handle_and_relation(net: Session[Network]) -> None:
    person, friend = somebody(net), somebody(net, relation=True)
    assert [row["id"] for row in do(net, "find_social_profiles", name=person.name.upper())] == [person.id]
    assert [row["id"] for row in do(net, "find_social_profiles", name=f"@{person.handle}")] == [person.id]
    everybody = [row["id"] for row in do(net, "find_social_profiles", limit=50)]
    blockers = [row.blocker for row in net.state.blocks.where(blocked=net.state.me)]
    assert net.state.me not in everybody and blockers and not set(blockers) & set(everybody)
    assert len(do(net, "find_social_profiles")) == 5 and len(do(net, "find_social_profiles", limit=2)) == 2
    followed = do(net, "find_social_profiles", relation="following")
    assert friend.id in [row["id"] for row in followed] and {row["relation"] for row in followed} == {"following"}
    assert {row["relation"] for row in do(net, "find_social_profiles", relation="blocked")} == {"blocked"}
    fans = [row.follower for row in net.state.follows.where(followed=net.state.me) if net.state.is_accepted(row)]
    assert [row["id"] for row in do(net, "find_social_profiles", relation="followers")] == fans


def test_following_and_unfollowing_counts(net: Session[Network]) -> None:
    person = somebody(net)
    before = do(net, "get_social_profile", profile=person.id)
    mine = do(net, "get_social_profile", profile=net.state.me)
    assert (mine["relation"], mine["follow_limit"]) == ("you", net.state.profiles[net.state.me].follow_limit)
    assert "follow_limit" not in before and before["relation"] == "none"
    assert do(net, "update_follow", profile=person.id, action="follow")["relation"] == "following"
    assert refused(net, "update_follow", profile=person.id, action="follow") == "already_following"
    assert do(net, "get_social_profile", profile=person.id)["followers"] == before["followers"] + 1
    assert do(net, "get_social_profile", profile=net.state.me)["following"] == mine["following"] + 1
    assert do(net, "update_follow", profile=person.id, action="unfollow")["relation"] == "none"
    assert refused(net, "update_follow", profile=person.id, action="unfollow") == "not_following"
    assert refused(net, "update_follow", profile=net.state.me, action="follow") == "own_profile"
    assert do(net, "get_social_profile", profile=person.id) == before


def test_nobody_follows_more_people_than_allowed() -> None:
    def limit(net: Network) -> None:
        net.profiles.change(net.me, follow_limit=1 + len(net.follows.where(follower=net.me)))

    session = world_with(server, limit)
    state = session.state
    free = [row.id for row in state.profiles if row.id != state.me and not state.has_block_between(state.me, row.id)]
    one, other, *_ = [id for id in free if state.follow(state.me, id) is None]
    do(session, "update_follow", profile=one, action="follow")
    assert refused(session, "update_follow", profile=other, action="follow") == "follow_limit"


def test_a_private_profile_shows_its_posts_once_it_has_accepted() -> None:
    session, post = world(lambda net, row: of_private(net, row) and net.follow(net.me, row.author) is None)
    assert refused(session, "get_post", post=post.id) == "private_profile"
    assert "latest" not in do(session, "get_social_profile", profile=post.author)
    requested_at = session.state.now
    assert do(session, "update_follow", profile=post.author, action="follow")["relation"] == "requested"
    assert refused(session, "update_follow", profile=post.author, action="follow") == "request_pending"
    assert [row["id"] for row in do(session, "find_social_profiles", relation="requested")] == [post.author]
    assert refused(session, "get_post", now=requested_at + timedelta(minutes=3), post=post.id) == "private_profile"
    assert do(session, "get_post", now=requested_at + timedelta(minutes=4), post=post.id)["id"] == post.id


def test_a_request_can_be_withdrawn_and_some_are_never_answered() -> None:
    session, person = find_row(
        server,
        "profiles",
        lambda net, row: (
            row.id != net.me and not net.has_block_between(net.me, row.id) and net.follow(net.me, row.id) is None
        ),
    )
    change_state(session, lambda net: net.profiles.change(person.id, private=True, accepts_after=None))
    do(session, "update_follow", profile=person.id, action="follow")
    much = later(session, days=90)
    assert refused(session, "update_follow", now=much, profile=person.id, action="follow") == "request_pending"
    assert do(session, "update_follow", profile=person.id, action="unfollow")["relation"] == "none"


def test_posts_for_followers_are_for_followers() -> None:
    session, post = world(
        lambda net, row: (
            row.audience == "followers"
            and row.author != net.me
            and net.is_published(row)
            and not net.profiles[row.author].private
            and not net.has_block_between(net.me, row.author)
            and net.follow(net.me, row.author) is None
        )
    )
    assert refused(session, "get_post", post=post.id) == "followers_only"
    do(session, "update_follow", profile=post.author, action="follow")
    assert do(session, "get_post", post=post.id)["audience"] == "followers"
    assert refused(session, "repost", post=post.id) == "not_shareable"


def test_a_block_ends_follows_both_ways_and_hides_both_from_each_other() -> None:
    session, post = world(
        lambda net, row: (
            liked_by_nobody(net, row)
            and net.is_following(net.me, row.author)
            and net.follow(row.author, net.me) is not None
        )
    )
    author, me = post.author, session.state.me
    assert do(session, "update_block", profile=author, action="block")["relation"] == "blocked"
    assert session.state.follow(me, author) is None and session.state.follow(author, me) is None
    for tool, more in (("get_post", {}), ("update_like", {"action": "like"}), ("repost", {})):
        assert refused(session, tool, post=post.id, **more) == "blocked_by_you"
    assert refused(session, "update_follow", profile=author, action="follow") == "blocked_by_you"
    assert refused(session, "update_block", profile=author, action="block") == "already_blocked"
    assert post.id not in [row["id"] for row in do(session, "search_posts", hashtag=post.hashtags[0], limit=50)]
    assert "latest" not in do(session, "get_social_profile", profile=author)
    do(session, "update_block", profile=author, action="unblock")
    assert refused(session, "update_block", profile=author, action="unblock") == "not_blocked"
    assert refused(session, "update_block", profile=me, action="block") == "own_profile"
    assert do(session, "get_post", post=post.id)["id"] == post.id


def test_who_blocked_the_user_is_out_of_reach() -> None:
    session, post = world(lambda net, row: net.is_published(row) and net.block(row.author, net.me) is not None)
    for tool in ("get_post", "repost", "delete_post"):
        assert refused(session, tool, post=post.id) == "blocked_by_author"
    assert refused(session, "get_social_profile", profile=post.author) == "blocked_by_author"
    assert refused(session, "update_follow", profile=post.author, action="follow") == "blocked_by_author"
    assert post.id not in [row["id"] for row in do(session, "search_posts", hashtag=post.hashtags[0], limit=50)]


def test_a_repost_of_somebody_blocked_is_hidden_too() -> None:
    session, post = world(
        lambda net, row: row.repost_of is not None and net.can_see(row) and net.posts[row.repost_of].author != net.me
    )
    source = session.state.posts[post.repost_of].author
    assert do(session, "get_post", post=post.id)["shared_text"] == session.state.posts[post.repost_of].text
    assert refused(session, "update_like", post=post.id, action="like") == "is_repost"
    assert refused(session, "comment_on_post", post=post.id, text="Love this") == "is_repost"
    do(session, "update_block", profile=source, action="block")
    assert refused(session, "get_post", post=post.id) == "blocked_by_you"


def test_a_like_is_given_once_and_taken_back_once() -> None:
    session, post = world(liked_by_nobody)
    assert refused(session, "update_like", post=post.id, action="unlike") == "not_liked"
    do(session, "update_like", post=post.id, action="like")
    assert refused(session, "update_like", post=post.id, action="like") == "already_liked"
    back = do(session, "update_like", post=post.id, action="unlike")
    assert (back["likes"], back["liked"]) == (post.likes, False)


def test_own_posts_take_no_like_repost_or_report_of_the_user(net: Session[Network]) -> None:
    post = do(net, "publish_post", text="Hello there")["id"]
    assert refused(net, "update_like", post=post, action="like") == "own_post"
    assert refused(net, "repost", post=post) == "own_post"
    assert refused(net, "report_post", post=post, reason="spam") == "own_post"
    assert do(net, "comment_on_post", post=post, text="First")["text"] == "First"


def test_only_own_posts_are_changed() -> None:
    session, post = world(liked_by_nobody)
    for tool, more in (("edit_post", {"text": "Mine"}), ("delete_post", {}), ("pin_post", {})):
        assert refused(session, tool, post=post.id, **more) == "not_your_post"


def test_comments_are_for_those_the_author_lets_comment() -> None:
    session, post = world(lambda net, row: liked_by_nobody(net, row) and row.comments_from == "nobody")
    assert refused(session, "comment_on_post", post=post.id, text="Love this") == "comments_closed"
    session, post = world(
        lambda net, row: (
            liked_by_nobody(net, row) and row.comments_from == "followers" and net.follow(net.me, row.author) is None
        )
    )
    assert refused(session, "comment_on_post", post=post.id, text="Love this") == "comments_for_followers"
    do(session, "update_follow", profile=post.author, action="follow")
    do(session, "comment_on_post", post=post.id, text="Love this")


def test_a_reply_stays_below_its_post_and_an_hour_takes_ten_comments() -> None:
    session, post = world(open_to_all)
    own = do(session, "publish_post", text="Hello there")["id"]
    other = do(session, "comment_on_post", post=own, text="First")["id"]
    assert refused(session, "comment_on_post", post=post.id, text="Thanks", reply_to=other) == "other_post"
    for _ in range(9):
        do(session, "comment_on_post", post=post.id, text="Thanks")
    assert refused(session, "comment_on_post", post=post.id, text="Thanks") == "rate_limited"
    do(session, "comment_on_post", now=later(session, minutes=50), post=post.id, text="Thanks")
    assert refused(session, "comment_on_post", post=post.id, text="Thanks", reply_to="PCOM-0000") == "not_found"
    assert len(do(session, "get_post", post=post.id)["newest_comments"]) == 5


def test_a_text_is_edited_for_half_an_hour_and_commenters_at_any_time(net: Session[Network]) -> None:
    post = do(net, "publish_post", text="Hello there")["id"]
    assert refused(net, "edit_post", post=post, text="Hello there") == "nothing_to_change"
    assert refused(net, "edit_post", post=post, text="Hello there", comments_from="everyone") == "nothing_to_change"
    do(net, "edit_post", now=later(net, minutes=29), post=post, text="Hello again")
    assert refused(net, "edit_post", post=post, text="Hello at last") == "edit_window_passed"
    closed = do(net, "edit_post", post=post, text="Hello again", comments_from="nobody")
    assert closed["comments_from"] == "nobody" and closed["edited"] == at(net, minutes=-2)


def test_nobody_says_the_same_twice_a_day(net: Session[Network]) -> None:
    do(net, "publish_post", text="Hello there")
    assert refused(net, "publish_post", text=" hello  THERE") == "duplicate_post"
    other = do(net, "publish_post", text="Hello again")["id"]
    assert refused(net, "edit_post", post=other, text="Hello there") == "duplicate_post"
    assert refused(net, "publish_post", text="Hello there", publish_at=at(net, hours=20)) == "duplicate_post"
    do(net, "edit_post", post=other, text="hello AGAIN")
    do(net, "publish_post", now=later(net, days=1), text="Hello there")


def test_a_post_has_five_hashtags_at_most(net: Session[Network]) -> None:
    assert refused(net, "publish_post", text="#a #b #c #d #e #f") == "too_many_hashtags"
    assert len(do(net, "publish_post", text="#a #b #c #d #e #A")["hashtags"]) == 5


def test_five_posts_make_a_full_hour(net: Session[Network]) -> None:
    recent = sum(
        row.at > later(net, hours=-1)
        for row in net.state.posts.where(author=net.state.me)
        if net.state.is_published(row)
    )
    for number in range(5 - recent):
        do(net, "publish_post", text=f"Number {number}")
    assert refused(net, "publish_post", text="One more") == "rate_limited"
    session, post = world(liked_by_nobody)
    for number in range(4):
        session.call("publish_post", {"text": f"Number {number}"})
    assert refused(session, "repost", post=post.id) == "rate_limited"
    do(session, "repost", now=later(session, hours=1), post=post.id)


def test_an_hour_is_over_after_sixty_minutes(net: Session[Network]) -> None:
    first = parse_instant(do(net, "publish_post", now=later(net, days=2), text="Number 0")["at"])
    for number in range(1, 5):
        do(net, "publish_post", text=f"Number {number}")
    assert refused(net, "publish_post", now=first + timedelta(minutes=59), text="One more") == "rate_limited"
    do(net, "publish_post", now=first + timedelta(minutes=60), text="One more")


def test_a_scheduled_post_waits_for_its_time(net: Session[Network]) -> None:
    moment = at(net, hours=2)
    post = do(net, "publish_post", text="See you #soon", publish_at=moment, audience="followers")["id"]
    assert post in [row["id"] for row in do(net, "read_social_feed", feed="scheduled")]
    assert post not in [row["id"] for row in do(net, "read_social_feed", feed="own", limit=50)]
    assert do(net, "search_posts", hashtag="soon") == []
    assert refused(net, "pin_post", post=post) == "not_published_yet"
    assert refused(net, "comment_on_post", post=post, text="First") == "not_published_yet"
    do(net, "edit_post", post=post, text="See you all #soon")
    then = later(net, hours=2)
    reply = net.call("read_social_feed", {"feed": "own"}, now=then)
    assert post in [row["id"] for row in reply.data]
    do(net, "pin_post", now=then, post=post)
    assert refused(net, "pin_post", post=post) == "already_pinned"


def test_the_schedule_has_bounds(net: Session[Network]) -> None:
    assert refused(net, "publish_post", text="Hello", publish_at=at(net)) == "in_the_past"
    assert refused(net, "publish_post", text="Hello", publish_at=at(net, days=30, minutes=1)) == "too_far_ahead"
    do(net, "publish_post", text="Far away", publish_at=at(net, days=30))
    for number in range(5 - len(net.state.list_scheduled_posts())):
        do(net, "publish_post", text=f"Number {number}", publish_at=at(net, days=3, hours=number))
    assert refused(net, "publish_post", text="One more", publish_at=at(net, days=9)) == "schedule_full"
    do(net, "publish_post", text="One more")


def test_what_others_post_later_appears_when_its_time_has_come() -> None:
    session, post = world(
        lambda net, row: row.author != net.me and not net.is_published(row) and net.is_following(net.me, row.author)
    )
    assert refused(session, "get_post", post=post.id) == "not_found"
    assert post.id not in [row["id"] for row in do(session, "read_social_feed", limit=50)]
    assert do(session, "read_social_feed", now=post.at)[0]["id"] == post.id


def test_a_repost_is_made_once_and_not_edited_or_pinned() -> None:
    session, post = world(liked_by_nobody)
    shared = do(session, "repost", post=post.id)["id"]
    assert refused(session, "repost", post=post.id) == "already_reposted"
    assert refused(session, "edit_post", post=shared, text="Mine") == "is_repost"
    assert refused(session, "pin_post", post=shared) == "is_repost"
    session, post = world(
        lambda net, row: (
            net.profiles[row.author].private
            and net.is_published(row)
            and row.audience == "public"
            and row.repost_of is None
            and net.is_following(net.me, row.author) is False
            and not net.has_block_between(net.me, row.author)
            and net.profiles[row.author].accepts_after == 2
            and net.follow(net.me, row.author) is None
        )
    )
    do(session, "update_follow", profile=post.author, action="follow")
    assert refused(session, "repost", now=later(session, hours=1), post=post.id) == "not_shareable"


def test_a_reported_post_leaves_feeds_and_searches() -> None:
    session, post = world(lambda net, row: liked_by_nobody(net, row) and net.is_following(net.me, row.author))
    tag = post.hashtags[0]
    assert post.id in [row["id"] for row in do(session, "search_posts", hashtag=tag, author=post.author, limit=50)]
    assert do(session, "report_post", post=post.id, reason="spam")["reason"] == "spam"
    assert refused(session, "report_post", post=post.id, reason="hate") == "already_reported"
    assert post.id not in [row["id"] for row in do(session, "search_posts", hashtag=tag, limit=50)]
    assert post.id not in [row["id"] for row in do(session, "read_social_feed", limit=50)]
    assert do(session, "get_post", post=post.id)["id"] == post.id


def test_a_search_keeps_to_the_author_and_the_newest() -> None:
    session = server.open(3, "default")
    found = do(session, "search_posts", hashtag="coffee", limit=50)
    assert [row["at"] for row in found] == sorted((row["at"] for row in found), reverse=True)
    author = found[0]["author"]
    own = do(session, "search_posts", hashtag="coffee", author=author, limit=50)
    assert own == [row for row in found if row["author"] == author] and len(own) < len(found)
    assert do(session, "search_posts", hashtag="coffee", limit=2) == found[:2]
    assert len(do(session, "read_social_feed")) == 5 and len(do(session, "read_social_feed", limit=7)) == 7
    assert refused(session, "search_posts", hashtag="coffee", author="nobody") == "not_found"


def test_mentions_find_their_profile() -> None:
    session = server.open(7, "small")
    me = session.state.profiles[session.state.me]
    made = do(session, "publish_post", text=f"Note to self @{me.handle} and @nobody")
    assert made["mentions"] == [me.id]
    assert made["id"] in [row["id"] for row in do(session, "read_social_feed", feed="mentions")]


def test_comments_of_blocked_people_are_hidden() -> None:
    session, post = world(
        lambda net, row: (
            row.author == net.me
            and net.is_published(row)
            and len({one.author for one in net.comments.where(post=row.id)}) > 1
        )
    )
    person = session.state.comments.where(post=post.id)[0].author
    do(session, "update_block", profile=person, action="block")
    seen = do(session, "get_post", post=post.id)
    assert person not in [row["author"] for row in seen["newest_comments"]] and seen["comments"] == post.comments
