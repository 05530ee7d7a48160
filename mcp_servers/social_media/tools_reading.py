"""Tools that read posts: feeds, hashtags, and one post with what people said about it."""

from __future__ import annotations

from itertools import islice

from .parameters import ROWS, AskedAuthor, AskedFeed, Hashtag, Limit, PostRef
from .rules import readable
from .server import server
from .state import Network, SocialPost, SocialPostId
from .views import PostDetails, PostLine, newest, post_details, post_line


@server.read()
def read_social_feed(net: Network, feed: AskedFeed = None, limit: Limit = None) -> tuple[PostLine, ...]:
    """Read posts of the people you follow, newest first, or another feed."""
    posts, hidden = newest(candidates(net, feed or "following")), reported(net)
    rows = (row for row in posts if (row.repost_of or row.id) not in hidden and net.sees(row))
    return tuple(post_line(net, row) for row in islice(rows, limit or ROWS))


def candidates(net: Network, feed: str) -> list[SocialPost]:
    """The posts of a feed, some of which the user may not see."""
    if feed == "following":
        followed = [row.followed for row in net.follows.where(follower=net.me) if net.accepted(row)]
        return [post for id in followed for post in net.posts.where(author=id)]
    if feed == "mentions":
        return net.posts.where(mentions=net.profiles[net.me].handle)
    if feed == "scheduled":
        return net.scheduled()
    return [row for row in net.posts.where(author=net.me) if net.out(row)]


def reported(net: Network) -> set[SocialPostId]:
    """The posts that the user has reported; neither they nor their reposts are shown in lists."""
    return {row.post for row in net.reports}


@server.read()
def search_posts(
    net: Network, hashtag: Hashtag, author: AskedAuthor = None, limit: Limit = None
) -> tuple[PostLine, ...]:
    """Search the posts you can see by hashtag, newest first."""
    writer = None if author is None else net.profiles[author].id
    found = net.posts.where(hashtags=hashtag.removeprefix("#").lower())
    posts = newest([row for row in found if writer in (None, row.author) and net.out(row)])
    hidden = reported(net)
    rows = (row for row in posts if (row.repost_of or row.id) not in hidden and net.sees(row))
    return tuple(post_line(net, row) for row in islice(rows, limit or ROWS))


@server.read()
def get_post(net: Network, post: PostRef) -> PostDetails:
    """Get a post with its counts, settings and newest comments."""
    return post_details(net, readable(net, post))
