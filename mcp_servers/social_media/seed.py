"""Seeded world of the social network: people, their follows and blocks, and weeks of posts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

from ..core import Draw, derive_row_id
from ..shared.people import EmailAddress, Person, cast, get_start_time
from .state import (
    Audience,
    CommentsFrom,
    Follow,
    Network,
    PostComment,
    PostLike,
    ProfileBlock,
    SocialPost,
    SocialPostId,
    SocialProfile,
    add_minutes,
)

# The words that the seeded posts, comments and profiles are made of.

TAGS = {
    "art": ("a mural", "the new gallery", "an old print", "a charcoal sketch", "the glass pavilion"),
    "baking": ("a sourdough loaf", "cinnamon buns", "an apple tart", "a plum cake", "oat biscuits"),
    "books": ("a novel about whales", "the second volume", "a used atlas", "a slim memoir", "an old cookbook"),
    "coffee": ("a flat white", "the corner roastery", "a hand grinder", "a bitter espresso", "the new beans"),
    "cycling": ("the river route", "a steep climb", "a borrowed tandem", "the new bike lane", "a puncture"),
    "garden": ("the first radishes", "two rose bushes", "a compost heap", "climbing beans", "a shy hedgehog"),
    "hiking": ("the ridge trail", "a foggy summit", "the forest loop", "a mountain hut", "the long descent"),
    "music": ("a string quartet", "the late set", "an open rehearsal", "a vinyl record", "the brass band"),
    "photo": ("the empty station", "a red door", "morning fog", "the old harbour", "a lone heron"),
    "running": ("an easy ten", "the hill sprints", "a muddy half", "the lake loop", "a new pair of shoes"),
    "startup": ("our first demo", "a pitch deck", "the new office", "a long sprint", "the beta launch"),
    "travel": ("the night train", "a ferry crossing", "a tiny guesthouse", "the last bus", "a street market"),
}
OPENINGS = (
    "Could not stop thinking about", "Finally found time for", "Everyone should know", "Grateful for",
    "Nothing beats", "Spent the whole day with", "Still smiling about", "Surprised by", "Today was all about",
    "Weekend well spent on",
)  # fmt: skip
ENDINGS = (
    "", " again", " after all", " before breakfast", " with good friends", " in the rain", " for once",
    " and it was worth it",
)  # fmt: skip
REMARKS = (
    "Looks wonderful", "Take me with you next time", "I had the same thought", "Where exactly is that",
    "This is so you", "Well deserved", "Now I am jealous", "Tell me more on Monday", "You convinced me",
    "Same here since last week", "I would have stayed home", "Great choice", "That reminds me of school",
    "Saving this for later",
)  # fmt: skip
BIOS = (
    "Notes from a small kitchen", "Mostly here for the pictures", "Opinions are borrowed", "Learning in public",
    "Two wheels, one dog", "Early riser, slow runner", "Collector of unfinished books", "Talks too much about maps",
    "Weekend photographer", "Between meetings", "Plants, podcasts and patience", "Here to listen",
)  # fmt: skip


Id = TypeVar("Id", bound=str)


class Size(NamedTuple):
    """How many rows a world has, and over how many days its posts are spread; `coming` are posts still unseen."""

    people: int
    follows: int
    blocks: int
    posts: int
    own: int
    coming: int
    reposts: int
    likes: int
    comments: int
    days: int


SIZES = {
    "small": Size(8, 6, 2, 7, 2, 1, 1, 8, 6, days=5),
    "default": Size(28, 90, 6, 90, 8, 5, 10, 160, 90, days=20),
    "large": Size(240, 1600, 60, 1700, 60, 20, 150, 2400, 1500, days=120),
}


def seed(seed: int, size: str) -> Network:
    """Return the social network of this seed; `size` is small, default or large."""
    net, draw, scale = Network(seed, get_start_time(seed)), Draw("social_media", seed, size), SIZES[size]
    if size == "large":
        net.follows.width = net.posts.width = net.comments.width = net.likes.width = 6
    people = cast(seed, scale.people)
    put_profiles(net, draw, people)
    for put in (put_blocks, put_follows, put_posts):
        put(net, draw, scale)
        net.settle()
    put_reposts(net, draw, scale)
    put_likes(net, draw, scale)
    put_comments(net, draw, scale)
    pin_some(net, draw)
    return net


def put_profiles(net: Network, draw: Draw, people: tuple[Person, ...]) -> None:
    for place, person in enumerate(people):
        net.profiles.put(
            SocialProfile(
                id=person.id,
                name=person.name,
                handle=person.name.lower().replace(" ", "_"),
                bio=draw.choice(BIOS),
                private=place > 0 and draw.chance(0.3),
                accepts_after=draw.choice((2, 4, 8, 20, 60, 240, None)),
                follow_limit=draw.integer(3, 4) if len(people) < 10 else draw.integer(16, 20),
            )
        )


def list_other_profiles(net: Network) -> list[SocialProfile]:
    return [row for row in net.profiles if row.id != net.me]


def pairs(draw: Draw, net: Network, count: int) -> Iterator[tuple[EmailAddress, EmailAddress]]:
    """Yield `count` different ordered pairs of people."""
    ids, seen = [row.id for row in net.profiles], dict[tuple[str, str], None]()
    while len(seen) < count:
        one, other = draw.choice(ids), draw.choice(ids)
        if one != other and (one, other) not in seen:
            seen[one, other] = None
            yield one, other


def put_blocks(net: Network, draw: Draw, scale: Size) -> None:
    """Add blocks: somebody blocks the user, the user blocks somebody, and others block each other."""
    blocker, blocked, *_ = draw.sample([row.id for row in list_other_profiles(net)], 2)
    first = {(blocker, net.me): None, (net.me, blocked): None}
    for pair in [*first, *(pair for pair in pairs(draw, net, scale.blocks) if net.me not in pair)][: scale.blocks]:
        net.blocks.put(ProfileBlock(id=derive_row_id(net.blocks, pair), blocker=pair[0], blocked=pair[1]))


def put_follows(net: Network, draw: Draw, scale: Size) -> None:
    """Add follows: the user follows some public profiles; others follow each other or the user."""
    free = [row for row in list_other_profiles(net) if not net.has_block_between(net.me, row.id)]
    public = [row.id for row in free if not row.private]
    count = max(1, min(len(public) - 1, net.profiles[net.me].follow_limit - draw.integer(1, 2)))
    mine = {(net.me, id): None for id in draw.sample(public, count)}
    rest = (pair for pair in pairs(draw, net, scale.follows) if pair[0] != net.me and not net.has_block_between(*pair))
    for follower, followed in dict.fromkeys((*mine, *rest)):
        at = draw_past_moment(draw, net.now, 1, 300)
        minutes = net.profiles[followed].accepts_after if net.profiles[followed].private else 0
        net.follows.put(
            Follow(
                id=derive_row_id(net.follows, (follower, followed)),
                follower=follower,
                followed=followed,
                at=at,
                accepted=add_minutes(at, minutes),
            )
        )


def draw_past_moment(draw: Draw, now: datetime, low: int, high: int) -> datetime:
    return now - timedelta(days=draw.integer(low, high), minutes=draw.integer(0, 600))


def generate_post_texts(draw: Draw, net: Network) -> Iterator[str]:
    """Yield post texts without duplicates; some mention a person."""
    handles, seen = [row.handle for row in net.profiles], dict[str, None]()
    while True:
        tag = draw.choice(tuple(TAGS))
        text = f"{draw.choice(OPENINGS)} {draw.choice(TAGS[tag])}{draw.choice(ENDINGS)}"
        if text not in seen:
            seen[text] = None
            mention = f" @{draw.choice(handles)}" if draw.chance(0.15) else ""
            yield f"{text}{mention} #{tag}"


def put_posts(net: Network, draw: Draw, scale: Size) -> None:
    """Add posts in chronological order. The user's are hours apart, one is minutes old and one is scheduled."""
    people = [row.id for row in list_other_profiles(net)]
    written = generate_post_texts(draw, net)
    times = [(draw_past_moment(draw, net.now, 0, scale.days), draw.choice(people)) for _ in range(scale.posts)]
    times += [(net.now + timedelta(minutes=draw.integer(2, 90)), draw.choice(people)) for _ in range(scale.coming)]
    times += [(net.now - timedelta(hours=9 * (place + 1)), net.me) for place in range(1, scale.own)]
    times += [(net.now - timedelta(minutes=draw.integer(5, 25)), net.me), (net.now + timedelta(hours=30), net.me)]
    for number, (at, author) in enumerate(sorted(times)):
        audience: Audience = draw.choose_weighted(("public", "followers"), (4, 1))
        comments_from: CommentsFrom = draw.choose_weighted(("everyone", "followers", "nobody"), (6, 2, 2))
        net.posts.put(
            SocialPost(
                id=derive_row_id(net.posts, number),
                author=author,
                text=next(written),
                at=at,
                audience=audience,
                comments_from=comments_from,
            )
        )


def list_original_posts(net: Network) -> list[SocialPost]:
    """Return the published posts that are not reposts."""
    return [row for row in net.posts if row.at < net.now and row.repost_of is None]


def put_reposts(net: Network, draw: Draw, scale: Size) -> None:
    """Add reposts of public posts by people other than the user, up to 15 hours after the original."""
    ids = [row.id for row in list_other_profiles(net)]
    free = [
        row for row in list_original_posts(net) if row.audience == "public" and not net.profiles[row.author].private
    ]
    for post in draw.sample(free, scale.reposts):
        sharer = draw.choice([id for id in ids if id != post.author])
        if not net.has_block_between(sharer, post.author):
            at = min(net.now, post.at + timedelta(minutes=draw.integer(1, 900)))
            id = derive_row_id(net.posts, f"repost/{post.id}")
            net.posts.put(SocialPost(id=id, author=sharer, text="", at=at, repost_of=post.id))
            net.posts.change(post.id, reposts=post.reposts + 1)


def readers_of(net: Network) -> dict[SocialPostId, list[EmailAddress]]:
    """Return who may have reacted to each published post: followers, or anybody else if it is public."""
    ids, found = [row.id for row in net.profiles], dict[SocialPostId, list[EmailAddress]]()
    followers: dict[str, list[EmailAddress]] = {id: [] for id in ids}
    for row in net.follows:
        if net.is_accepted(row):
            followers[row.followed].append(row.follower)
    apart = dict.fromkeys(
        pair for row in net.blocks for pair in ((row.blocker, row.blocked), (row.blocked, row.blocker))
    )
    for post in list_original_posts(net):
        closed = net.profiles[post.author].private or post.audience == "followers"
        pool = followers[post.author] if closed else ids
        found[post.id] = [id for id in pool if id != post.author and (id, post.author) not in apart]
    return found


def put_likes(net: Network, draw: Draw, scale: Size) -> None:
    readers = {post: people for post, people in readers_of(net).items() if people}
    posts = list(readers)
    pairs = [(post, draw.choice(readers[post])) for post in (draw.choice(posts) for _ in range(scale.likes))]
    liked = dict.fromkeys(pairs)
    for post, person in liked:
        net.likes.put(PostLike(id=derive_row_id(net.likes, (post, person)), post=post, person=person))
    for post, count in Counter(post for post, _ in liked).items():
        net.posts.change(post, likes=count)


def put_comments(net: Network, draw: Draw, scale: Size) -> None:
    """Add comments by others. Each is later than the previous one on its post; some reply to that one."""
    readers = {post: [id for id in people if id != net.me] for post, people in readers_of(net).items()}
    cold = net.now - timedelta(hours=1)
    posts = [row for row in list_original_posts(net) if row.comments_from != "nobody" and row.at < cold]
    drawn = Counter(draw.choice(posts).id for _ in range(scale.comments))
    for id, count in drawn.items():
        post, last = net.posts[id], None
        for number in range(count):
            at = min(net.now, (last.at if last else post.at) + timedelta(minutes=draw.integer(1, 50)))
            last = net.comments.put(
                PostComment(
                    id=derive_row_id(net.comments, f"{id}/{number}"),
                    post=id,
                    author=draw.choice(readers[id] or [post.author]),
                    text=draw.choice(REMARKS),
                    at=at,
                    reply_to=last.id if last and draw.chance(0.4) else None,
                )
            )
        net.posts.change(id, comments=count)


def pin_some(net: Network, draw: Draw) -> None:
    """Pin one of their own posts for some of the people other than the user."""
    for post in list_original_posts(net):
        if post.author != net.me and net.profiles[post.author].pinned is None and draw.chance(0.3):
            net.profiles.change(post.author, pinned=post.id)
