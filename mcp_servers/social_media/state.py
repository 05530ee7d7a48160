"""State of the social network: profiles, follows, blocks, posts, comments, likes and reports."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Literal, NewType

from ..core import Entity, Minute, State, Table, table
from ..shared.people import EmailAddress, cast

SocialPostId = NewType("SocialPostId", str)
PostCommentId = NewType("PostCommentId", str)
FollowId = NewType("FollowId", str)
PostLikeId = NewType("PostLikeId", str)
ProfileBlockId = NewType("ProfileBlockId", str)
PostReportId = NewType("PostReportId", str)

Audience = Literal["public", "followers"]
CommentsFrom = Literal["everyone", "followers", "nobody"]
Reason = Literal["spam", "harassment", "false information", "violence", "hate"]

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
EDIT_WINDOW = timedelta(minutes=30)
FURTHEST = timedelta(days=30)
POSTS_AN_HOUR = 5
COMMENTS_AN_HOUR = 10
MOST_SCHEDULED = 5
MOST_HASHTAGS = 5

HASHTAG = re.compile(r"#(\w+)", re.ASCII)
MENTION = re.compile(r"@(\w+)", re.ASCII)


class SocialProfile(Entity):
    """Somebody on the network; a private profile accepts a request after some minutes, or never (None)."""

    __label__ = "{name}"
    id: EmailAddress
    name: str
    handle: str
    bio: str
    private: bool
    accepts_after: int | None = None
    follow_limit: int
    pinned: SocialPostId | None = None


class Follow(Entity):
    """One follows another from `accepted` on; before it, or without it, the follow is a request."""

    id: FollowId
    follower: EmailAddress
    followed: EmailAddress
    at: Minute
    accepted: Minute | None = None

    @property
    def pair(self) -> frozenset[EmailAddress]:
        return frozenset((self.follower, self.followed))


class SocialPost(Entity):
    """A post, seen from `at` on; a repost has no text of its own but an original. The counters equal the rows."""

    __label__ = "the post {text}"
    id: SocialPostId
    author: EmailAddress
    text: str
    at: Minute
    audience: Audience = "public"
    comments_from: CommentsFrom = "everyone"
    likes: int = 0
    comments: int = 0
    reposts: int = 0
    edited: Minute | None = None
    repost_of: SocialPostId | None = None

    @property
    def hashtags(self) -> tuple[str, ...]:
        """The hashtags of its text in lower case, without duplicates."""
        return find_marked_words(HASHTAG, self.text)

    @property
    def mentions(self) -> tuple[str, ...]:
        """The handles that its text mentions, without duplicates."""
        return find_marked_words(MENTION, self.text)


class PostComment(Entity):
    """What somebody wrote below a post, perhaps as a reply to another comment there."""

    __label__ = "the comment {text}"
    id: PostCommentId
    post: SocialPostId
    author: EmailAddress
    text: str
    at: Minute
    reply_to: PostCommentId | None = None


class PostLike(Entity):
    """Somebody likes a post."""

    id: PostLikeId
    post: SocialPostId
    person: EmailAddress


class ProfileBlock(Entity):
    """One has blocked another."""

    id: ProfileBlockId
    blocker: EmailAddress
    blocked: EmailAddress

    @property
    def pair(self) -> frozenset[EmailAddress]:
        return frozenset((self.blocker, self.blocked))


class PostReport(Entity):
    """The user has told the network what is wrong with a post."""

    __label__ = "the report about {reason}"
    id: PostReportId
    post: SocialPostId
    reason: Reason
    at: Minute


class Network(State):
    """The social network around one user; posts whose time has not come are there but unseen."""

    profiles: Table[EmailAddress, SocialProfile] = table("", "profile", index=("handle",))
    follows: Table[FollowId, Follow] = table("FOLW", "follow", index=("follower", "followed", "pair"))
    posts: Table[SocialPostId, SocialPost] = table(
        "POST", "post", index=("author", "hashtags", "mentions", "repost_of")
    )
    comments: Table[PostCommentId, PostComment] = table("PCOM", "comment", index=("post", "author"))
    likes: Table[PostLikeId, PostLike] = table("LIKE", "like", index=("post", "person"))
    blocks: Table[ProfileBlockId, ProfileBlock] = table("BLOK", "block", index=("blocker", "blocked", "pair"))
    reports: Table[PostReportId, PostReport] = table("PREP", "report", index=("post",))

    @property
    def me(self) -> EmailAddress:
        """The user's id."""
        return cast(self.seed, 1)[0].id

    def follow(self, follower: EmailAddress, followed: EmailAddress) -> Follow | None:
        """Return the follow or request from one person to another, if there is one."""
        for row in self.follows.where(pair=frozenset((follower, followed))):
            if row.follower == follower:
                return row
        return None

    def is_accepted(self, follow: Follow | None) -> bool:
        """Return whether there is a follow and it is accepted by now, not a pending request."""
        return follow is not None and follow.accepted is not None and follow.accepted <= self.now

    def is_following(self, follower: EmailAddress, followed: EmailAddress) -> bool:
        return self.is_accepted(self.follow(follower, followed))

    def block(self, blocker: EmailAddress, blocked: EmailAddress) -> ProfileBlock | None:
        for row in self.blocks.where(pair=frozenset((blocker, blocked))):
            if row.blocker == blocker:
                return row
        return None

    def has_block_between(self, one: EmailAddress, other: EmailAddress) -> bool:
        """Return whether either person has blocked the other."""
        return bool(self.blocks.where(pair=frozenset((one, other))))

    def is_published(self, post: SocialPost) -> bool:
        """Return whether the post is published by now."""
        return post.at <= self.now

    def can_see(self, post: SocialPost) -> bool:
        """Return whether the user may see this post.

        The user sees their own posts, and published ones that no block, private profile or audience hides from them.
        """
        me = self.me
        if post.author == me:
            return True
        if post.at > self.now or self.has_block_between(me, post.author):
            return False
        if post.repost_of is not None and not self.can_see(self.posts[post.repost_of]):
            return False
        closed = post.audience == "followers" or self.profiles[post.author].private
        return not closed or self.is_following(me, post.author)

    def list_scheduled_posts(self) -> list[SocialPost]:
        """Return the user's posts that are scheduled and not published yet."""
        return [row for row in self.posts.where(author=self.me) if not self.is_published(row)]


@lru_cache(maxsize=1 << 14)
def find_marked_words(pattern: re.Pattern[str], text: str) -> tuple[str, ...]:
    """Return the words of a text that the pattern marks, in lower case, without duplicates."""
    return tuple(dict.fromkeys(pattern.findall(text.lower())))


def same_text(text: str) -> str:
    """Return the text with case and whitespace normalized, so that texts that differ only in these compare equal."""
    return " ".join(text.casefold().split())


def add_minutes(moment: datetime, minutes: int | None) -> datetime | None:
    return None if minutes is None else moment + timedelta(minutes=minutes)
