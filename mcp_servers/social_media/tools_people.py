"""Tools on people: their profiles, whom you follow and whom you block."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ..kit import ToolError
from ..people import EmailAddress
from .parameters import ROWS, AskedName, AskedRelation, BlockAction, FollowAction, Limit, ProfileRef
from .rules import require_no_block, somebody_else
from .server import server
from .state import Follow, Network, ProfileBlock, SocialProfile, later
from .views import ProfileDetails, ProfileLine, profile_details, profile_line


@server.read()
def find_social_profiles(
    net: Network, name: AskedName = None, relation: AskedRelation = None, limit: Limit = None
) -> tuple[ProfileLine, ...]:
    """Find people on the social network, all of them or by name or handle."""
    wanted = (name or "").casefold().removeprefix("@")
    rows = (row for row in related(net, relation) if wanted in row.name.casefold() or wanted in row.handle)
    return tuple(profile_line(net, row) for row in islice(rows, limit or ROWS))


def related(net: Network, relation: str | None) -> Iterator[SocialProfile]:
    """The profiles of one of the user's lists, or all but those that have blocked the user."""
    if relation is None:
        hidden = {net.me, *(row.blocker for row in net.blocks.where(blocked=net.me))}
        return (row for row in net.profiles if row.id not in hidden)
    return (net.profiles[id] for id in listed(net, relation))


def listed(net: Network, relation: str) -> list[EmailAddress]:
    """The people of one of the user's lists."""
    if relation == "blocked":
        return [row.blocked for row in net.blocks.where(blocker=net.me)]
    if relation == "followers":
        return [row.follower for row in net.follows.where(followed=net.me) if net.accepted(row)]
    accepted = relation == "following"
    return [row.followed for row in net.follows.where(follower=net.me) if net.accepted(row) == accepted]


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
                accepted=later(net.now, minutes),
            )
        )
    elif known is None:
        raise ToolError("not_following", f"You do not follow {profile}; nothing is left to do.")
    else:
        net.follows.remove(known.id)
    return profile_line(net, row)


def require_not_followed(net: Network, known: Follow | None) -> None:
    if known is not None and net.accepted(known):
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
