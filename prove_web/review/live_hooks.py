"""Comments on a trajectory as a topic of sockets."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from django.db.models import Count, Max

from prove_web.accounts.models import User
from prove_web.live.hooks import Topic, topics
from prove_web.trajectories.models import Trajectory

from .blinding import blind_since
from .models import Comment


def read_stamp(trajectory: str) -> dict[str, Any]:
    """Return a stamp that changes with every comment; the comments themselves are fetched with permission checks."""
    found = Comment.objects.filter(trajectory=trajectory).aggregate(
        Max("pk"), Max("edited_at"), Max("resolved_at"), Count("resolved_at"), Count("removed_at")
    )
    return {"stamp": blake2b(repr(sorted(found.items())).encode(), digest_size=8).hexdigest()}


def find_blind_reviewers(trajectory: str, people: Iterable[int]) -> set[int]:
    """Return the users who still have to review the trajectory blind.

    They must not learn of comments on it.
    """
    row = (
        Trajectory.objects.select_related("dataset__project__organisation")
        .defer("record", "rollout")
        .get(pk=trajectory)
    )
    return {one.pk for one in User.objects.filter(pk__in=people) if blind_since(row, one)}


topics["trajectory"] = Topic(
    "projects__datasets__trajectories", read_stamp, ("projects__datasets",), find_blind_reviewers
)
