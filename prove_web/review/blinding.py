"""Blind review: hides the reward, and the work of others, from a user whose own answers in a blind queue are missing.

An item waits while its queue is open and the user's own review is not complete. An open item waits for those who were
assigned, started, skipped or hold it; where reviewers pull items, it waits for every annotator, who may be next. An
item that others have completed waits for the annotators who started it. Users who may adjudicate are blind only where
they take part.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from prove_web.accounts.models import Project
from prove_web.accounts.permissions import role_in
from prove_web.accounts.roles import Action
from prove_web.trajectories.models import Trajectory

from .models import Hold, Item, Review

SCORES = ("reward", "validity", "coverage", "efficiency", "name", "arguments")


class Blind:
    """Items of a project that wait for one user's answers; none for an anonymous user, such as a command or a job."""

    def __init__(self, user: Any, project: Project):
        self.user, self.project = user, project

    @cached_property
    def items(self) -> QuerySet[Item]:
        role = role_in(self.user, self.project.organisation) if self.user else None
        if role is None or not role.covers(Action.ANNOTATE):
            return Item.objects.none()
        adjudicates = role.covers(Action.LAUNCH)
        mine = Review.objects.filter(item=OuterRef("pk"), reviewer=self.user, adjudicates=False)
        held = Hold.objects.filter(item=OuterRef("pk"), reviewer=self.user, until__gt=timezone.now())
        assigned = Item.assigned.through.objects.filter(item=OuterRef("pk"), user=self.user)
        next_one = Q(Exists(held)) | Q(Exists(assigned)) | (Q() if adjudicates else Q(queue__pull=True))
        concerned = Q(Exists(mine)) if adjudicates else Q(Exists(mine.exclude(state=Review.State.DONE)))
        waits = Q(state=Item.State.OPEN) & (next_one | concerned)
        begun = Q(pk__in=[]) if adjudicates else concerned
        rows = Item.objects.filter(queue__project=self.project, queue__blind=True, queue__closed_at=None)
        return rows.filter(waits | begun).exclude(Exists(mine.filter(state=Review.State.DONE)))

    @property
    def keys(self) -> QuerySet:
        """The trajectories that wait, as a subquery."""
        return self.items.order_by().values("trajectory")

    @cached_property
    def any(self) -> bool:
        return self.items.exists()

    def find_hidden_ids(self, keys: Iterable[int]) -> set[int]:
        """Return which of these trajectories wait."""
        wanted = list(keys)
        return set(self.items.filter(trajectory__in=wanted).values_list("trajectory", flat=True)) if self.any else set()

    def get_hidden_since(self, trajectory: Trajectory) -> datetime | None:
        """Return the creation time of the oldest queue in which a trajectory waits, or None."""
        rows = self.items.filter(trajectory=trajectory).order_by("queue__created_at")
        return rows.values_list("queue__created_at", flat=True).first()

    def exclude_hidden(self, rows: QuerySet, path: str = "pk") -> QuerySet:
        """Return the rows without those whose trajectory, at the lookup `path`, waits."""
        return rows.exclude(**{f"{path}__in": self.keys}) if self.any else rows

    def cover(self, rows: Iterable[Trajectory]) -> set[int]:
        """Remove the reward, in memory, from trajectories that wait. Return their ids."""
        known = list(rows)
        waiting = self.find_hidden_ids(one.pk for one in known)
        for one in known:
            if one.pk in waiting:
                hide_reward(one)
        return waiting


def hide_reward(trajectory: Trajectory) -> Trajectory:
    """Remove the reward from a trajectory in memory."""
    for name in SCORES:
        setattr(trajectory, name, None)
    if "rollout" not in trajectory.get_deferred_fields() and trajectory.rollout:
        trajectory.rollout = {**trajectory.rollout, "reward": None}
    return trajectory


def blind_since(trajectory: Trajectory, user: Any) -> datetime | None:
    """Return the creation time of the oldest blind queue that waits for this user's answers, or None."""
    return Blind(user, trajectory.dataset.project).get_hidden_since(trajectory)
