"""The server object of the social network, its parameter types and its tools."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Literal

from pydantic import Field

from ..core import Minute, ObservedField, Server, ToolError, minute_text
from ..shared.people import EmailAddress
from .engine import (
    original,
    readable,
    require_new_text,
    require_no_block,
    require_original,
    require_others_post,
    require_own_post,
    require_pace,
    require_schedulable,
    somebody_else,
)
from .seed import TAGS, seed
from .state import (
    COMMENTS_AN_HOUR,
    EDIT_WINDOW,
    HOUR,
    Audience,
    CommentsFrom,
    Follow,
    Network,
    PostComment,
    PostCommentId,
    PostLike,
    PostReport,
    ProfileBlock,
    Reason,
    SocialPost,
    SocialPostId,
    SocialProfile,
    add_minutes,
)
from .views import (
    CommentLine,
    PostDetails,
    PostLine,
    ProfileDetails,
    ProfileLine,
    comment_line,
    newest,
    post_details,
    post_line,
    profile_details,
    profile_line,
)

server = Server("social_media", "Follow people, publish posts, and like, comment on or repost those of others.", seed)


POSTS = [
    "Fresh bread and an early start #baking", "New bike lane on my way to work #cycling",
    "Who else is up before the birds #morning", "Three chapters left, no spoilers please #books",
    "Rain again, soup again #cooking", "My tomatoes are finally red #garden",
    "Slides are done, coffee is next #work", "Old film, new favourite #cinema",
    "Found a quiet table by the window", "First swim of the year #outdoors",
    "Looking for a good podcast on history", "The choir sounds better every week #music",
    "Packed too much, as always #travel", "Half marathon in ten weeks #running",
    "Learned to say no today", "A museum almost to myself #art", "Board games until midnight #games",
    "The cat has taken my chair again", "Lost a glove, found a pound #luck", "Sunday plans: none at all #weekend",
]  # fmt: skip
COMMENTS = [
    "Congratulations", "Could not agree more", "Count me in", "Good luck with it", "How did you do that",
    "I was there too", "Love this", "More of this please", "Not sure about that", "Thanks for sharing",
    "That made my day", "What a view", "When is the next one", "Where was this", "You are too kind",
]  # fmt: skip

ProfileRef = Annotated[EmailAddress, Field(description="Id of a person's profile, an e-mail address")]
PostRef = Annotated[SocialPostId, Field(description="Id of a post")]
OwnPostRef = Annotated[SocialPostId, Field(description="Id of one of your own posts")]
ReplyTo = Annotated[PostCommentId | None, Field(description="Id of the comment below that post to reply to")]

Text = Annotated[
    str, Field(max_length=280, pattern=r"\S", description="Text, with #hashtags and @handles", examples=POSTS)
]
CommentText = Annotated[str, Field(max_length=200, pattern=r"\S", description="Text of the comment", examples=COMMENTS)]
PublishAt = Annotated[
    Minute | None, Field(description="When to publish it, to the minute, such as 2026-03-05T10:00:00Z; now by default")
]
AudienceParam = Annotated[Audience | None, Field(description="Who sees the post, public by default")]
CommentsParam = Annotated[CommentsFrom | None, Field(description="Who may comment, everyone by default")]
NewComments = Annotated[CommentsFrom | None, Field(description="Who may comment from now on")]
ReasonGiven = Annotated[Reason, Field(description="What is wrong with the post")]

FollowAction = Annotated[Literal["follow", "unfollow"], Field(description="What to do; unfollow withdraws requests")]
BlockAction = Annotated[Literal["block", "unblock"], Field(description="What to do")]
LikeAction = Annotated[Literal["like", "unlike"], Field(description="What to do")]

NameParam = Annotated[
    str | None,
    Field(max_length=60, pattern=r"\S", description="Name or handle, or a part of it"),
    ObservedField("name"),
]
RelationParam = Annotated[
    Literal["following", "requested", "blocked", "followers"] | None,
    Field(description="Only people you follow, asked, blocked, or who follow you"),
]
FeedParam = Annotated[
    Literal["following", "mentions", "own", "scheduled"] | None,
    Field(description="Which posts: of those you follow (default), mentioning you, your own, or still to come"),
]
Hashtag = Annotated[
    str, Field(max_length=40, pattern=r"^#?[A-Za-z0-9_]+$", description="A hashtag", examples=list(TAGS))
]
AuthorParam = Annotated[EmailAddress | None, Field(description="Only posts of this person")]
Limit = Annotated[
    int | None,
    Field(ge=1, le=50, description="Most rows to return, 5 by default", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20]),
]

ROWS = 5


# Tools for people: profiles, follows and blocks.


@server.read()
def find_social_profiles(
    net: Network, name: NameParam = None, relation: RelationParam = None, limit: Limit = None
) -> tuple[ProfileLine, ...]:
    """Find people on the social network, all of them or by name or handle."""
    wanted = (name or "").casefold().removeprefix("@")
    rows = (
        row for row in list_related_profiles(net, relation) if wanted in row.name.casefold() or wanted in row.handle
    )
    return tuple(profile_line(net, row) for row in islice(rows, limit or ROWS))


def list_related_profiles(net: Network, relation: str | None) -> Iterator[SocialProfile]:
    """Return the profiles of one of the user's lists, or all others except those that have blocked the user."""
    if relation is None:
        hidden = {net.me, *(row.blocker for row in net.blocks.where(blocked=net.me))}
        return (row for row in net.profiles if row.id not in hidden)
    return (net.profiles[id] for id in list_relation_ids(net, relation))


def list_relation_ids(net: Network, relation: str) -> list[EmailAddress]:
    """Return the ids of the people in one of the user's lists."""
    if relation == "blocked":
        return [row.blocked for row in net.blocks.where(blocker=net.me)]
    if relation == "followers":
        return [row.follower for row in net.follows.where(followed=net.me) if net.is_accepted(row)]
    accepted = relation == "following"
    return [row.followed for row in net.follows.where(follower=net.me) if net.is_accepted(row) == accepted]


@server.read()
def get_social_profile(net: Network, profile: ProfileRef) -> ProfileDetails:
    """Get a profile with its counts, its pinned post and its newest posts."""
    row = net.profiles[profile]
    if net.block(profile, net.me):
        require_no_block(net, profile)
    return profile_details(net, row)


@server.write(idempotent=True)
def update_follow(net: Network, profile: ProfileRef, action: FollowAction) -> ProfileLine:
    """Follow a profile, or stop following it; a private one gets a request."""
    row, known = somebody_else(net, profile), net.follow(net.me, profile)
    if action == "follow":
        require_no_block(net, profile)
        require_not_followed(net, known)
        require_room(net)
        minutes = row.accepts_after if row.private else 0
        net.follows.put(
            Follow(
                id=net.follows.new_id(),
                follower=net.me,
                followed=profile,
                at=net.now,
                accepted=add_minutes(net.now, minutes),
            )
        )
    elif known is None:
        raise ToolError("not_following", f"You do not follow {profile}; nothing is left to do.")
    else:
        net.follows.remove(known.id)
    return profile_line(net, row)


def require_not_followed(net: Network, known: Follow | None) -> None:
    if known is not None and net.is_accepted(known):
        raise ToolError("already_following", f"You follow {known.followed} already; nothing is left to do.")
    if known is not None:
        raise ToolError("request_pending", f"{known.followed} has not answered your request yet; wait for it.")


def require_room(net: Network) -> None:
    limit = net.profiles[net.me].follow_limit
    if len(net.follows.where(follower=net.me)) >= limit:
        raise ToolError("follow_limit", f"You can follow {limit} people, requests included; unfollow somebody first.")


@server.write(idempotent=True)
def update_block(net: Network, profile: ProfileRef, action: BlockAction) -> ProfileLine:
    """Block a profile, which ends follows both ways, or unblock it."""
    row, known = somebody_else(net, profile), net.block(net.me, profile)
    if action == "block":
        if known is not None:
            raise ToolError("already_blocked", f"You have blocked {profile} already; nothing is left to do.")
        cut(net, net.me, profile)
        cut(net, profile, net.me)
        net.blocks.put(ProfileBlock(id=net.blocks.new_id(), blocker=net.me, blocked=profile))
    elif known is None:
        raise ToolError("not_blocked", f"You have not blocked {profile}; nothing is left to do.")
    else:
        net.blocks.remove(known.id)
    return profile_line(net, row)


def cut(net: Network, follower: EmailAddress, followed: EmailAddress) -> None:
    """End a follow or withdraw a request, if there is one."""
    known = net.follow(follower, followed)
    if known is not None:
        net.follows.remove(known.id)


# Tools for the user's own posts: publish, schedule, edit, pin, delete.


@server.write(idempotent=True)
def publish_post(
    net: Network,
    text: Text,
    audience: AudienceParam = None,
    comments_from: CommentsParam = None,
    publish_at: PublishAt = None,
) -> PostDetails:
    """Publish a post now, or schedule it for later."""
    if publish_at is not None:
        require_schedulable(net, publish_at)
    at = publish_at or net.now
    require_new_text(net, text, at)
    require_pace(net, at)
    post = SocialPost(
        id=net.posts.new_id(),
        author=net.me,
        text=text,
        at=at,
        audience=audience or "public",
        comments_from=comments_from or "everyone",
    )
    return post_details(net, net.posts.put(post))


@server.write(idempotent=True)
def edit_post(net: Network, post: OwnPostRef, text: Text, comments_from: NewComments = None) -> PostDetails:
    """Edit your post: its text for a while, who may comment at any time."""
    row = require_own_post(net, post)
    if row.repost_of is not None:
        raise ToolError("is_repost", f"{post} is a repost and cannot be edited; delete it instead.")
    if text == row.text and comments_from in (None, row.comments_from):
        raise ToolError("nothing_to_change", f"{post} is like that already; give a new text or new commenters.")
    edited = row.edited
    if text != row.text:
        require_editable(net, row, text)
        edited = net.now
    comments_from = comments_from or row.comments_from
    return post_details(net, net.posts.change(post, text=text, edited=edited, comments_from=comments_from))


def require_editable(net: Network, post: SocialPost, text: str) -> None:
    """Raise ToolError unless the text of this post may still be changed to the new text."""
    if net.now > post.at + EDIT_WINDOW:
        raise ToolError(
            "edit_window_passed",
            f"The text of {post.id} could be edited until {minute_text(post.at + EDIT_WINDOW)}; write a new post.",
        )
    require_new_text(net, text, post.at, besides=post.id)


@server.write(idempotent=True)
def pin_post(net: Network, post: OwnPostRef) -> ProfileDetails:
    """Pin one of your posts to your profile, in place of any other."""
    row = require_own_post(net, post)
    require_original(net, row)
    if net.profiles[net.me].pinned == row.id:
        raise ToolError("already_pinned", f"{post} is your pinned post already; nothing is left to do.")
    return profile_details(net, net.profiles.change(net.me, pinned=row.id))


@server.write(destructive=True, idempotent=True)
def delete_post(net: Network, post: OwnPostRef) -> PostLine:
    """Delete your post with its likes, comments and reposts, or undo your repost."""
    row = require_own_post(net, post)
    line = post_line(net, row)
    if row.repost_of is not None:
        net.posts.change(row.repost_of, reposts=net.posts[row.repost_of].reposts - 1)
    drop(net, row.id)
    return line


def drop(net: Network, id: SocialPostId) -> None:
    """Remove a post with its likes, comments and reposts, and unpin it."""
    for like in net.likes.where(post=id):
        net.likes.remove(like.id)
    for comment in net.comments.where(post=id):
        net.comments.remove(comment.id)
    for repost in net.posts.where(repost_of=id):
        net.posts.remove(repost.id)
    author = net.posts.remove(id).author
    if net.profiles[author].pinned == id:
        net.profiles.change(author, pinned=None)


# Tools for other people's posts: like, comment, repost, report.


@server.write(idempotent=True)
def update_like(net: Network, post: PostRef, action: LikeAction) -> PostDetails:
    """Like a post of somebody else, or take your like back."""
    row = require_others_post(net, post)
    known = net.likes.where(post=post, person=net.me)
    if action == "like":
        if known:
            raise ToolError("already_liked", f"You like {post} already; nothing is left to do.")
        net.likes.put(PostLike(id=net.likes.new_id(), post=post, person=net.me))
        return post_details(net, net.posts.change(post, likes=row.likes + 1))
    if not known:
        raise ToolError("not_liked", f"You do not like {post}; nothing is left to do.")
    net.likes.remove(known[0].id)
    return post_details(net, net.posts.change(post, likes=row.likes - 1))


@server.write()
def comment_on_post(net: Network, post: PostRef, text: CommentText, reply_to: ReplyTo = None) -> CommentLine:
    """Comment on a post, or reply to a comment below it."""
    row = original(net, post)
    require_open(net, row)
    if reply_to is not None and net.comments[reply_to].post != post:
        raise ToolError("other_post", f"{reply_to} is below another post; name a comment below {post}.")
    recent = [one for one in net.comments.where(author=net.me) if one.at > net.now - HOUR]
    if len(recent) >= COMMENTS_AN_HOUR:
        raise ToolError("rate_limited", f"You can write {COMMENTS_AN_HOUR} comments an hour; try again later.")
    comment = PostComment(id=net.comments.new_id(), post=post, author=net.me, text=text, at=net.now, reply_to=reply_to)
    net.posts.change(post, comments=row.comments + 1)
    return comment_line(net.comments.put(comment))


def require_open(net: Network, post: SocialPost) -> None:
    """Raise ToolError if the user may not comment on this post."""
    if post.comments_from == "nobody":
        raise ToolError("comments_closed", f"Comments on {post.id} are closed; choose another post.")
    if post.comments_from == "followers" and post.author != net.me and not net.is_following(net.me, post.author):
        raise ToolError(
            "comments_for_followers", f"Only followers of {post.author} can comment on {post.id}; follow them first."
        )


@server.write(idempotent=True)
def repost(net: Network, post: PostRef) -> PostLine:
    """Repost a public post of somebody else."""
    row = require_others_post(net, post)
    if row.audience != "public" or net.profiles[row.author].private:
        raise ToolError("not_shareable", f"{post} is not public; only public posts of public profiles are reposted.")
    for known in net.posts.where(repost_of=post):
        if known.author == net.me:
            raise ToolError("already_reposted", f"{known.id} is your repost of {post}; delete it to undo it.")
    require_pace(net, net.now)
    net.posts.change(post, reposts=row.reposts + 1)
    shared = SocialPost(id=net.posts.new_id(), author=net.me, text="", at=net.now, repost_of=post)
    return post_line(net, net.posts.put(shared))


@server.write(destructive=True, idempotent=True)
def report_post(net: Network, post: PostRef, reason: ReasonGiven) -> PostReport:
    """Report a post of somebody else, which leaves your feeds."""
    require_others_post(net, post)
    known = net.reports.where(post=post)
    if known:
        raise ToolError("already_reported", f"{known[0].id} is your report of {post}; nothing is left to do.")
    return net.reports.put(PostReport(id=net.reports.new_id(), post=post, reason=reason, at=net.now))


# Tools that read posts: feeds, hashtag search, and one post with its comments.


@server.read()
def read_social_feed(net: Network, feed: FeedParam = None, limit: Limit = None) -> tuple[PostLine, ...]:
    """Read posts of the people you follow, newest first, or another feed."""
    posts, hidden = newest(candidates(net, feed or "following")), list_reported_ids(net)
    rows = (row for row in posts if (row.repost_of or row.id) not in hidden and net.can_see(row))
    return tuple(post_line(net, row) for row in islice(rows, limit or ROWS))


def candidates(net: Network, feed: str) -> list[SocialPost]:
    """Return the posts of a feed, including some that the user may not see."""
    if feed == "following":
        followed = [row.followed for row in net.follows.where(follower=net.me) if net.is_accepted(row)]
        return [post for id in followed for post in net.posts.where(author=id)]
    if feed == "mentions":
        return net.posts.where(mentions=net.profiles[net.me].handle)
    if feed == "scheduled":
        return net.list_scheduled_posts()
    return [row for row in net.posts.where(author=net.me) if net.is_published(row)]


def list_reported_ids(net: Network) -> set[SocialPostId]:
    """Return the ids of the posts that the user has reported; lists show neither them nor their reposts."""
    return {row.post for row in net.reports}


@server.read()
def search_posts(
    net: Network, hashtag: Hashtag, author: AuthorParam = None, limit: Limit = None
) -> tuple[PostLine, ...]:
    """Search the posts you can see by hashtag, newest first."""
    writer = None if author is None else net.profiles[author].id
    found = net.posts.where(hashtags=hashtag.removeprefix("#").lower())
    posts = newest([row for row in found if writer in (None, row.author) and net.is_published(row)])
    hidden = list_reported_ids(net)
    rows = (row for row in posts if (row.repost_of or row.id) not in hidden and net.can_see(row))
    return tuple(post_line(net, row) for row in islice(rows, limit or ROWS))


@server.read()
def get_post(net: Network, post: PostRef) -> PostDetails:
    """Get a post with its counts, settings and newest comments."""
    return post_details(net, readable(net, post))
