"""Tools on the user's own posts: publish, schedule, edit, pin, delete."""

from __future__ import annotations

from ..kit import ToolError, minute_text
from .parameters import AskedAudience, AskedComments, NewComments, OwnPostRef, PublishAt, Text
from .rules import own, require_new_text, require_original, require_pace, require_schedulable
from .server import server
from .state import EDIT_WINDOW, Network, SocialPost, SocialPostId
from .views import PostDetails, PostLine, ProfileDetails, post_details, post_line, profile_details


@server.write(idempotent=True)
def publish_post(
    net: Network,
    text: Text,
    audience: AskedAudience = None,
    comments_from: AskedComments = None,
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
    row = own(net, post)
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
    """Raises ToolError unless the post may still have this new text."""
    if net.now > post.at + EDIT_WINDOW:
        raise ToolError(
            "edit_window_passed",
            f"The text of {post.id} could be edited until {minute_text(post.at + EDIT_WINDOW)}; write a new post.",
        )
    require_new_text(net, text, post.at, besides=post.id)


@server.write(idempotent=True)
def pin_post(net: Network, post: OwnPostRef) -> ProfileDetails:
    """Pin one of your posts to your profile, in place of any other."""
    row = own(net, post)
    require_original(net, row)
    if net.profiles[net.me].pinned == row.id:
        raise ToolError("already_pinned", f"{post} is your pinned post already; nothing is left to do.")
    return profile_details(net, net.profiles.change(net.me, pinned=row.id))


@server.write(destructive=True, idempotent=True)
def delete_post(net: Network, post: OwnPostRef) -> PostLine:
    """Delete your post with its likes, comments and reposts, or undo your repost."""
    row = own(net, post)
    line = post_line(net, row)
    if row.repost_of is not None:
        net.posts.change(row.repost_of, reposts=net.posts[row.repost_of].reposts - 1)
    drop(net, row.id)
    return line


def drop(net: Network, id: SocialPostId) -> None:
    """Remove a post and all that hangs on it."""
    for like in net.likes.where(post=id):
        net.likes.remove(like.id)
    for comment in net.comments.where(post=id):
        net.comments.remove(comment.id)
    for repost in net.posts.where(repost_of=id):
        net.posts.remove(repost.id)
    author = net.posts.remove(id).author
    if net.profiles[author].pinned == id:
        net.profiles.change(author, pinned=None)
