"""Invariants of the social network: they hold in every state that a session can reach."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from .state import (
    COMMENTS_AN_HOUR,
    DAY,
    EDIT_WINDOW,
    HOUR,
    MOST_HASHTAGS,
    MOST_SCHEDULED,
    POSTS_AN_HOUR,
    Network,
    same_text,
)
from .tools import server


@server.invariant
def counters_equal_the_rows(net: Network) -> bool:
    """A post counts exactly its likes, its comments and its reposts; nothing is said about a post that is gone."""
    likes = Counter(row.post for row in net.likes)
    comments = Counter(row.post for row in net.comments)
    reposts = Counter(row.repost_of for row in net.posts if row.repost_of)
    counts = all(
        (row.likes, row.comments, row.reposts) == (likes[row.id], comments[row.id], reposts[row.id])
        for row in net.posts
    )
    return counts and all(id in net.posts for id in [*likes, *comments, *reposts])


@server.invariant
def nobody_follows_twice_or_themselves(net: Network) -> bool:
    """A follow is between two different people, once, and accepted after it was asked for, if at all."""
    pairs = [(row.follower, row.followed) for row in net.follows]
    return (
        len(dict.fromkeys(pairs)) == len(pairs)
        and all(one != other and one in net.profiles and other in net.profiles for one, other in pairs)
        and all(row.at <= net.now and (row.accepted is None or row.accepted >= row.at) for row in net.follows)
    )


@server.invariant
def public_profiles_are_followed_at_once(net: Network) -> bool:
    """Only a follow of a private profile has to wait, for as long as that profile takes."""
    for row in net.follows:
        profile = net.profiles[row.followed]
        wait = None if row.accepted is None else (row.accepted - row.at).total_seconds() / 60
        if wait != (profile.accepts_after if profile.private else 0):
            return False
    return True


@server.invariant
def blocks_cut_follows_both_ways(net: Network) -> bool:
    """Nobody blocks themselves or somebody twice, and no follow or request is left between the two."""
    pairs = dict.fromkeys((row.blocker, row.blocked) for row in net.blocks)
    follows = [(row.follower, row.followed) for row in net.follows]
    return (
        len(pairs) == len(net.blocks)
        and all(one != other for one, other in pairs)
        and not any(pair in pairs or pair[::-1] in pairs for pair in follows)
    )


@server.invariant
def the_user_follows_within_the_limit(net: Network) -> bool:
    """Follows and requests of the user are no more than allowed."""
    return sum(row.follower == net.me for row in net.follows) <= net.profiles[net.me].follow_limit


@server.invariant
def reposts_refer_to_living_public_posts(net: Network) -> bool:
    """A repost has an earlier public original of a public profile of somebody else, and nobody reposts it twice."""
    reposts = [row for row in net.posts if row.repost_of]
    for row in reposts:
        original = net.posts.get(str(row.repost_of))
        if original is None or original.repost_of or original.author == row.author or original.at > row.at:
            return False
        if original.audience != "public" or net.profiles[original.author].private:
            return False
        if row.text or row.likes or row.comments or row.reposts or row.edited or row.at > net.now:
            return False
    return len(dict.fromkeys((row.author, row.repost_of) for row in reposts)) == len(reposts)


@server.invariant
def likes_are_of_others_and_once(net: Network) -> bool:
    """Nobody likes a post twice, their own, or one that is still to come."""
    pairs = [(row.post, row.person) for row in net.likes]
    return len(dict.fromkeys(pairs)) == len(pairs) and all(
        person in net.profiles and net.posts[post].author != person and net.posts[post].at <= net.now
        for post, person in pairs
    )


@server.invariant
def comments_follow_what_they_answer(net: Network) -> bool:
    """A comment is no earlier than its post, and one that replies no earlier than a comment below that post."""
    for row in net.comments:
        answered = net.comments[row.reply_to] if row.reply_to else row
        if not net.posts[row.post].at <= answered.at <= row.at <= net.now or answered.post != row.post:
            return False
    return True


@server.invariant
def the_user_keeps_the_pace(net: Network) -> bool:
    """In no hour the user has more posts or comments than allowed, and no more wait than can."""
    posts = sorted(row.at for row in net.posts if row.author == net.me)
    comments = sorted(row.at for row in net.comments if row.author == net.me)
    return sum(at > net.now for at in posts) <= MOST_SCHEDULED and all(
        late - early >= HOUR
        for times, most in ((posts, POSTS_AN_HOUR), (comments, COMMENTS_AN_HOUR))
        for early, late in zip(times, times[most:], strict=False)
    )


@server.invariant
def nobody_says_the_same_twice_a_day(net: Network) -> bool:
    """Posts of one author with one text lie a day apart, and none has too many hashtags."""
    rows = sorted((row.author, same_text(row.text), row.at) for row in net.posts if not row.repost_of)
    apart = all(early[:2] != late[:2] or late[2] - early[2] >= DAY for early, late in pairwise(rows))
    return apart and all(len(row.hashtags) <= MOST_HASHTAGS for row in net.posts)


@server.invariant
def edits_lie_within_their_window(net: Network) -> bool:
    """No text was edited after its edit window."""
    return all(row.edited is None or row.edited <= min(row.at + EDIT_WINDOW, net.now) for row in net.posts)


@server.invariant
def pinned_posts_are_the_profiles_own(net: Network) -> bool:
    """Pinned posts are published posts of the profile itself."""
    pinned = [(row.id, net.posts.get(row.pinned)) for row in net.profiles if row.pinned]
    return all(
        post is not None and post.author == id and not post.repost_of and post.at <= net.now for id, post in pinned
    )


@server.invariant
def reports_are_about_others(net: Network) -> bool:
    """The user reports a post once, and never an own one."""
    posts = [row.post for row in net.reports]
    return len(dict.fromkeys(posts)) == len(posts) and all(net.posts[id].author != net.me for id in posts)
