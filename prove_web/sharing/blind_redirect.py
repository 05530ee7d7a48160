"""A link to a trajectory, opened by somebody signed in who has yet to review it blind."""

from __future__ import annotations

from typing import Any

from prove_web.review.blinding import Blind
from prove_web.trajectories.models import Trajectory

from .models import Share
from .share_scope import match_of

WAITS = "This trajectory awaits your blind review. Until you complete it, the link shows only what reviewers may see."


def waits(share: Share, user: Any) -> bool:
    """Whether the page would tell them what the team's own pages do not tell them yet.

    Who has signed out is nobody, and sees what anybody sees.
    """
    page = match_of(share.project, share.path) if share.kind == Share.Kind.TRAJECTORY else None
    if page is None or not user.is_authenticated:
        return False
    named = {"dataset__number": page.kwargs["dataset"], "example": page.kwargs["example"]}
    keys = Trajectory.objects.of(share.project).filter(**named).values_list("pk", "parent")
    return bool(Blind(user, share.project).among(key for row in keys for key in row if key))
