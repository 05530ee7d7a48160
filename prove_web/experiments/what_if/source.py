"""Where rollouts for a what-if reward come from: what a run and a data set have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from django.db.models import QuerySet

from training_worker.prove.reward import RewardConfig

from .lot import Lot, Row

Place = tuple[int, int | str]


@dataclass(frozen=True)
class Rescored:
    """Rollouts that were scored one by one; `after` has those that could be, `stale` counts those of other servers.

    `left` are those that wait for the next request, and `anew` those that this one scored.
    """

    lot: Lot
    after: dict[Place, float]
    stale: int = 0
    left: int = 0
    anew: int = 0


class Source(Protocol):
    """A run or a data set, with the reward that its rollouts were scored by and the most they could earn."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def config(self) -> RewardConfig: ...

    @property
    def most(self) -> float: ...

    def size(self) -> int:
        """How many rollouts there are."""

    def read(self, most: int) -> Lot:
        """At most so many of them, in columns, evenly spread."""

    def rescore(self, config: RewardConfig, most: int, at_once: int | None = None) -> Rescored:
        """At most so many of them, read whole and scored by this; what was scored before is known.

        Once `at_once` were scored anew, the others are left.
        """

    def places(self, trajectories: QuerySet) -> frozenset[Place]:
        """Where those of its rollouts are that are these trajectories, which a query names by their keys."""

    def verdicts(self, rows: Sequence[Row]) -> dict[Place, str]:
        """What people settled on, of those they judged."""
