"""Tools on other people's posts: like, comment, repost, report."""

from __future__ import annotations

from ..kit import ToolError
from .parameters import CommentText, LikeAction, PostRef, ReasonGiven, ReplyTo
from .rules import original, others, require_pace
from .server import server
from .state import (
    COMMENTS_AN_HOUR,
    HOUR,
    Network,
    PostComment,
    PostLike,
    PostReport,
    SocialPost,
)
from .views import CommentLine, PostDetails, PostLine, comment_line, post_details, post_line


@server.write(idempotent=True)
def update_like(net: Network, post: PostRef, action: LikeAction) -> PostDetails:
    """Like a post of somebody else, or take your like back."""
    row = others(net, post)
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
    """Raises ToolError when the user may not comment on this post."""
    if post.comments_from == "nobody":
        raise ToolError("comments_closed", f"Comments on {post.id} are closed; choose another post.")
    if post.comments_from == "followers" and post.author != net.me and not net.following(net.me, post.author):
        raise ToolError(
            "comments_for_followers", f"Only followers of {post.author} can comment on {post.id}; follow them first."
        )


@server.write(idempotent=True)
def repost(net: Network, post: PostRef) -> PostLine:
    """Repost a public post of somebody else."""
    row = others(net, post)
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
    others(net, post)
    known = net.reports.where(post=post)
    if known:
        raise ToolError("already_reported", f"{known[0].id} is your report of {post}; nothing is left to do.")
    return net.reports.put(PostReport(id=net.reports.new_id(), post=post, reason=reason, at=net.now))
