"""Rollouts as columns: all that the paper's reward is made of, so that other weights are one multiplication."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from training_worker.prove.reward import RewardConfig
from training_worker.prove.reward.efficiency import efficiency

Floats = NDArray[np.float64]
COMPONENTS = ("validity", "coverage", "efficiency", "name", "arguments")


@dataclass(frozen=True)
class Row:
    """One rollout: where it is, what it earned, and what that was made of.

    `place` is (step, index) in a run, (number of the data set, its name there) of a data set. `reward` is None where
    there is none, and then it counts in nothing. `calls` is how many it made, `needed` how many the ground truth has:
    0 where none is due.
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
    """Rollouts with a reward, in columns of equal length; `groups` numbers them from 0, members being neighbours."""

    rows: tuple[Row, ...]
    before: Floats
    groups: NDArray[np.int64]
    components: dict[str, Floats]
    calls: NDArray[np.int64]
    needed: NDArray[np.int64]
    without: int = 0  # rollouts that have no reward
    broken: frozenset[int] = frozenset()  # groups that such a rollout belongs to

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Lot:
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
        """What each rollout's number of calls costs; the paper's formula, once for each pair of numbers there is."""
        pairs, place = np.unique(np.stack([self.calls, self.needed]), axis=1, return_inverse=True)
        costs = [efficiency(int(n), int(due), alpha, beta) if n and due else 0.0 for n, due in pairs.T]
        found: Floats = np.array(costs, dtype=np.float64)[place.reshape(-1)]
        return found

    def parts(self, config: RewardConfig) -> dict[str, Floats]:
        """The components under these alpha and beta."""
        return {**self.components, "efficiency": self.efficiency(config.alpha, config.beta)}

    def plain(self, config: RewardConfig) -> Floats:
        """The totals under a configuration that is plain (see RewardConfig.plain): the weighted sum, or abstention."""
        parts = self.parts(config)
        total = sum((getattr(config, name) * parts[name] for name in COMPONENTS), np.zeros(len(self.rows)))
        found: Floats = np.where(self.needed > 0, total, (self.calls == 0).astype(np.float64))
        return found
