"""Result types and serializers for profiles and posts: short rows for lists, and full details."""

from __future__ import annotations

from itertools import islice
from operator import attrgetter
from typing import Literal

from ..core import Entity, Minute
from ..shared.people import EmailAddress
from .state import (
    Audience,
    CommentsFrom,
    Network,
    PostComment,
    PostCommentId,
    SocialPost,
    SocialPostId,
    SocialProfile,
)

Relation = Literal["you", "following", "requested", "blocked", "none"]
LISTED_COMMENTS = 5
LISTED_POSTS = 3


class ProfileLine(Entity):
    """A profile in a list, and how the user stands to it."""

    __label__ = "{name}"
    id: EmailAddress
    name: str
    handle: str
    private: bool
    relation: Relation


class PostLine(Entity):
    """A post in a list; a repost has no text but shares that of the original."""

    __label__ = "the post {text}"
    id: SocialPostId
    author: EmailAddress
    text: str | None = None
    at: Minute
    repost_of: SocialPostId | None = None
    shared_text: str | None = None


class ProfileDetails(Entity):
    """Everything about a profile; only the user's own tells how many people it can follow."""

    __label__ = "{name}"
    id: EmailAddress
    name: str
    handle: str
    bio: str
    private: bool
    relation: Relation
    follows_you: bool
    followers: int
    following: int
    follow_limit: int | None = None
    pinned: PostLine | None = None
    latest: tuple[PostLine, ...] | None = None


class CommentLine(Entity):
    """A comment below a post."""

    __label__ = "the comment {text}"
    id: PostCommentId
    author: EmailAddress
    text: str
    at: Minute
    reply_to: PostCommentId | None = None


class PostDetails(Entity):
    """Everything about a post, with its newest comments."""

    __label__ = "the post {text}"
    id: SocialPostId
    author: EmailAddress
    text: str | None = None
    at: Minute
    audience: Audience
    comments_from: CommentsFrom
    hashtags: tuple[str, ...]
    mentions: tuple[EmailAddress, ...]
    likes: int
    reposts: int
    comments: int
    liked: bool
    newest_comments: tuple[CommentLine, ...]
    edited: Minute | None = None
    repost_of: SocialPostId | None = None
    shared_text: str | None = None


def relation_to(net: Network, person: EmailAddress) -> Relation:
    if person == net.me:
        return "you"
    if net.block(net.me, person):
        return "blocked"
    follow = net.follow(net.me, person)
    return "following" if net.is_accepted(follow) else "requested" if follow else "none"


def profile_line(net: Network, row: SocialProfile) -> ProfileLine:
    return ProfileLine.from_row(row, relation=relation_to(net, row.id))


def get_shared_text(net: Network, row: SocialPost) -> str | None:
    """Return the text of the post that a repost shares, or None if it is not a repost."""
    return None if row.repost_of is None else net.posts[row.repost_of].text


def post_line(net: Network, row: SocialPost) -> PostLine:
    return PostLine.from_row(row, text=row.text or None, shared_text=get_shared_text(net, row))


def newest(posts: list[SocialPost]) -> list[SocialPost]:
    return sorted(posts, key=attrgetter("at", "id"), reverse=True)


def profile_details(net: Network, row: SocialProfile) -> ProfileDetails:
    mine = row.id == net.me
    pinned = None if row.pinned is None else net.posts[row.pinned]
    seen = (post for post in newest(net.posts.where(author=row.id)) if net.is_published(post) and net.can_see(post))
    return ProfileDetails.from_row(
        row,
        relation=relation_to(net, row.id),
        follows_you=net.is_following(row.id, net.me),
        followers=sum(map(net.is_accepted, net.follows.where(followed=row.id))),
        following=sum(map(net.is_accepted, net.follows.where(follower=row.id))),
        follow_limit=row.follow_limit if mine else None,
        pinned=post_line(net, pinned) if pinned is not None and net.can_see(pinned) else None,
        latest=tuple(post_line(net, post) for post in islice(seen, LISTED_POSTS)) or None,
    )


def comment_line(row: PostComment) -> CommentLine:
    return CommentLine.from_row(row)


def newest_comments(net: Network, post: SocialPostId) -> tuple[CommentLine, ...]:
    """Return the last comments on a post that the user may see, the oldest first."""
    seen = (row for row in reversed(net.comments.where(post=post)) if not net.has_block_between(net.me, row.author))
    return tuple([comment_line(row) for row in islice(seen, LISTED_COMMENTS)][::-1])


def post_details(net: Network, row: SocialPost) -> PostDetails:
    mentioned = [profile.id for handle in row.mentions for profile in net.profiles.where(handle=handle)]
    return PostDetails.from_row(
        row,
        text=row.text or None,
        mentions=tuple(mentioned),
        liked=bool(net.likes.where(post=row.id, person=net.me)),
        newest_comments=newest_comments(net, row.id),
        shared_text=get_shared_text(net, row),
    )
