"""Checks that raise the social network's errors: blocks, private profiles, ownership, rate and schedule limits."""

from __future__ import annotations

from datetime import datetime, timedelta

from ..core import NotFound, ToolError, minute_text
from ..shared.people import EmailAddress
from .state import (
    DAY,
    FURTHEST,
    HASHTAG,
    HOUR,
    MOST_HASHTAGS,
    MOST_SCHEDULED,
    POSTS_AN_HOUR,
    Network,
    SocialPost,
    SocialPostId,
    SocialProfile,
    find_marked_words,
    same_text,
)


def require_no_block(net: Network, person: EmailAddress) -> None:
    """Raise ToolError if the user has blocked this person or this person has blocked the user."""
    if not net.has_block_between(net.me, person):
        return
    if net.block(person, net.me):
        raise ToolError("blocked_by_author", f"{person} has blocked you; you can do nothing with this profile.")
    raise ToolError("blocked_by_you", f"You have blocked {person}; unblock the profile first.")


def somebody_else(net: Network, id: EmailAddress) -> SocialProfile:
    """Return the profile; raise ToolError if it is the user's own."""
    if id == net.me:
        raise ToolError("own_profile", "This is your own profile; name somebody else's.")
    return net.profiles[id]


def readable(net: Network, id: SocialPostId) -> SocialPost:
    """Return the post if the user may read it; otherwise raise ToolError."""
    post = net.posts[id]
    if net.can_see(post):
        return post
    if not net.is_published(post):
        raise NotFound(f"There is no post {id}.")
    require_no_block(net, post.author)
    if post.repost_of is not None:
        readable(net, post.repost_of)
    if net.profiles[post.author].private:
        raise ToolError(
            "private_profile", f"{post.author} is private and has not accepted you as a follower; send a request."
        )
    raise ToolError("followers_only", f"{id} is for followers of {post.author}; follow this profile first.")


def original(net: Network, id: SocialPostId) -> SocialPost:
    """Return the post if the user may read it, it is published and it is not a repost; otherwise raise ToolError."""
    return require_original(net, readable(net, id))


def require_original(net: Network, post: SocialPost) -> SocialPost:
    if post.repost_of is not None:
        raise ToolError("is_repost", f"{post.id} is a repost; use the original, {post.repost_of}.")
    if not net.is_published(post):
        raise ToolError("not_published_yet", f"{post.id} is published at {minute_text(post.at)} only; wait until then.")
    return post


def require_others_post(net: Network, id: SocialPostId) -> SocialPost:
    """Return the post if it is somebody else's and not a repost; otherwise raise ToolError."""
    post = readable(net, id)
    if post.author == net.me:
        raise ToolError("own_post", f"{id} is your own post; name one of somebody else.")
    return require_original(net, post)


def require_own_post(net: Network, id: SocialPostId) -> SocialPost:
    """Return the post if it is the user's own; otherwise raise ToolError."""
    post = readable(net, id)
    if post.author != net.me:
        raise ToolError("not_your_post", f"{id} is a post of {post.author}; you can change only your own.")
    return post


def require_new_text(net: Network, text: str, at: datetime, besides: SocialPostId | None = None) -> None:
    """Raise ToolError if the text has too many hashtags or repeats a post of the user within a day of `at`."""
    if len(find_marked_words(HASHTAG, text)) > MOST_HASHTAGS:
        raise ToolError("too_many_hashtags", f"A post can have {MOST_HASHTAGS} hashtags; leave some out.")
    for row in list_own_posts_near(net, at, DAY):
        if row.id != besides and same_text(row.text) == same_text(text):
            raise ToolError("duplicate_post", f"{row.id} says the same within a day; change the text.")


def list_own_posts_near(net: Network, at: datetime, gap: timedelta) -> list[SocialPost]:
    """Return the user's posts, scheduled ones included, that are less than `gap` before or after `at`."""
    early, late = at - gap, at + gap
    return [row for row in net.posts.where(author=net.me) if early < row.at < late]


def require_pace(net: Network, at: datetime) -> None:
    """Raise ToolError if one more post at this moment would exceed the limit of posts per hour."""
    times = sorted([at, *(row.at for row in list_own_posts_near(net, at, HOUR))])
    if any(late - early < HOUR for early, late in zip(times, times[POSTS_AN_HOUR:], strict=False)):
        raise ToolError(
            "rate_limited",
            f"You can have {POSTS_AN_HOUR} posts in an hour around {minute_text(at)}; post at another time.",
        )


def require_schedulable(net: Network, at: datetime) -> None:
    """Raise ToolError if no post can be scheduled for this moment."""
    if at <= net.now:
        raise ToolError("in_the_past", f"It is {minute_text(net.now)} now; name a later time or leave it out.")
    if at > net.now + FURTHEST:
        raise ToolError(
            "too_far_ahead", f"Posts can wait until {minute_text(net.now + FURTHEST)}; name an earlier time."
        )
    if len(net.list_scheduled_posts()) >= MOST_SCHEDULED:
        raise ToolError("schedule_full", f"{MOST_SCHEDULED} posts are waiting already; delete one of them first.")
