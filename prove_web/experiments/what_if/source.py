"""The interface of rollout sources for reward replay, implemented by runs and datasets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from django.db.models import QuerySet

from training_worker.reward import RewardConfig

from .lot import Lot, Row

Place = tuple[int, int | str]


@dataclass(frozen=True)
class RescoringResult:
    """Individually scored rollouts; `after` has the scored ones, `stale` counts those whose servers' code changed.

    `left` rollouts remain for the next request, and `scored_now` were scored by this one.
    """

    lot: Lot
    after: dict[Place, float]
    stale: int = 0
    left: int = 0
    scored_now: int = 0


class Source(Protocol):
    """A run or dataset, with the reward that scored its rollouts and the maximum reward."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def config(self) -> RewardConfig: ...

    @property
    def most(self) -> float: ...

    def size(self) -> int:
        """Return the number of rollouts."""

    def read(self, most: int) -> Lot:
        """Return at most `most` rollouts in columns, evenly spread."""

    def rescore(self, config: RewardConfig, most: int, at_once: int | None = None) -> RescoringResult:
        """Score at most `most` complete rollouts with this configuration; earlier results are cached.

        Stops after `at_once` newly scored rollouts and leaves the rest.
        """

    def places(self, trajectories: QuerySet) -> frozenset[Place]:
        """Return the places of the source's rollouts that are among these trajectories, a query of primary keys."""

    def verdicts(self, rows: Sequence[Row]) -> dict[Place, str]:
        """Return the settled verdicts of the reviewed rollouts."""
