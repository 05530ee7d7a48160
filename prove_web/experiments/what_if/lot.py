"""Rollouts as columns of reward components, so that changing weights is a single multiplication."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from training_worker.reward import RewardConfig
from training_worker.reward.efficiency import efficiency

Floats = NDArray[np.float64]
COMPONENTS = ("validity", "coverage", "efficiency", "name", "arguments")


@dataclass(frozen=True)
class Row:
    """One rollout: its location, reward and components.

    `place` is (step, index) in a run, or (dataset number, example name) in a dataset. `reward` is None if there is
    none, and the rollout is then ignored. `calls` is the number of calls made, `needed` the number in the ground truth:
    0 where none is needed.
    """

    place: tuple[int, int | str]
    example: str
    group: tuple[int | str, ...]
    reward: float | None
    components: dict[str, float]
    calls: int
    needed: int


@dataclass(frozen=True)
class Lot:
    """Scored rollouts in columns of equal length; `groups` numbers groups from 0, with members adjacent."""

    rows: tuple[Row, ...]
    before: Floats
    groups: NDArray[np.int64]
    components: dict[str, Floats]
    calls: NDArray[np.int64]
    needed: NDArray[np.int64]
    without: int = 0  # rollouts without a reward
    broken: frozenset[int] = frozenset()  # groups with such a rollout

    @classmethod
    def from_rows(cls, rows: Sequence[Row]) -> Lot:
        numbers: dict[tuple[int | str, ...], int] = {}
        ordered = sorted(rows, key=lambda row: numbers.setdefault(row.group, len(numbers)))
        known = tuple(row for row in ordered if row.reward is not None)
        return cls(
            rows=known,
            before=np.array([row.reward for row in known], dtype=np.float64),
            groups=np.array([numbers[row.group] for row in known], dtype=np.int64),
            components={
                name: np.array([row.components.get(name) or 0.0 for row in known], dtype=np.float64)
                for name in COMPONENTS
            },
            calls=np.array([row.calls for row in known], dtype=np.int64),
            needed=np.array([row.needed for row in known], dtype=np.int64),
            without=len(ordered) - len(known),
            broken=frozenset(numbers[row.group] for row in ordered if row.reward is None),
        )

    def efficiency(self, alpha: float, beta: float) -> Floats:
        """Return the efficiency component, computed by the paper's formula once per distinct pair of counts."""
        pairs, place = np.unique(np.stack([self.calls, self.needed]), axis=1, return_inverse=True)
        costs = [efficiency(int(n), int(due), alpha, beta) if n and due else 0.0 for n, due in pairs.T]
        found: Floats = np.array(costs, dtype=np.float64)[place.reshape(-1)]
        return found

    def parts(self, config: RewardConfig) -> dict[str, Floats]:
        """Return the components for the configuration's alpha and beta."""
        return {**self.components, "efficiency": self.efficiency(config.alpha, config.beta)}

    def compute_plain_totals(self, config: RewardConfig) -> Floats:
        """Return the totals under a plain configuration (see RewardConfig.plain): the weighted sum, or abstention."""
        parts = self.parts(config)
        total = sum((getattr(config, name) * parts[name] for name in COMPONENTS), np.zeros(len(self.rows)))
        found: Floats = np.where(self.needed > 0, total, (self.calls == 0).astype(np.float64))
        return found
