"""Comparison of two rewards on the same rollouts: distributions, means, ranks, groups and label conflicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from training_worker.environment.reward_replay import Comparison
from training_worker.reward import RewardConfig

from .lot import COMPONENTS, Floats, Lot, Row
from .source import Place

BINS = 26
MOVED = 12
ACCEPT = "accept"


@dataclass(frozen=True)
class Bin:
    """Number of rollouts with a reward between two edges, before and after."""

    low: float
    high: float
    before: int
    after: int


@dataclass(frozen=True)
class Mean:
    """A component: its mean value and its weight, each before and after."""

    name: str
    value: tuple[float, float]
    weight: tuple[float, float]

    @property
    def adds(self) -> tuple[float, float]:
        return self.value[0] * self.weight[0], self.value[1] * self.weight[1]


@dataclass(frozen=True)
class RankChange:
    """One rollout: its totals and ranks before and after (1 is the best; ties share their mean rank)."""

    row: Row
    before: float
    after: float
    rank_before: float
    rank_after: float

    @property
    def change(self) -> float:
        return self.after - self.before


@dataclass(frozen=True)
class LabelConflict:
    """A label that the second reward contradicts, and whether the first one did too."""

    row: Row
    verdict: str
    before: float
    after: float
    already: bool


@dataclass(frozen=True)
class Labels:
    """Agreement with the settled verdicts of these rollouts: how many labels each reward contradicts, and its AUC.

    The AUC is the probability that an accepted rollout ranks above a rejected one (ties count half), None where either
    kind is missing.
    """

    judged: int
    before: int
    after: int
    auc: tuple[float | None, float | None]
    contradicted: list[LabelConflict]


@dataclass(frozen=True)
class RewardComparison:
    """The comparison; `rank` is Spearman's rank correlation, None where one reward is constant."""

    rollouts: int
    mean: tuple[float, float]
    spread: tuple[float, float]
    bins: list[Bin]
    means: list[Mean]
    groups: Comparison
    rank: float | None
    moved: list[RankChange]
    labels: Labels

    @property
    def mean_change(self) -> float:
        return self.mean[1] - self.mean[0]


def compare_rewards(
    lot: Lot,
    after: Floats,
    configs: tuple[RewardConfig, RewardConfig],
    verdicts: Mapping[Place, str],
    accepts: tuple[float, float],
) -> RewardComparison:
    """Compare the original rewards with those of the second configuration.

    `accepts` are the totals from which each reward counts as accepting. Requires at least one rollout.
    """
    before = lot.before
    return RewardComparison(
        rollouts=len(before),
        mean=(float(before.mean()), float(after.mean())),
        spread=(float(before.std()), float(after.std())),
        bins=histogram(before, after),
        means=means(lot, configs) if configs[1].form == "paper" else [],
        groups=groups(lot, after),
        rank=spearman(before, after),
        moved=find_rank_changes(lot, after),
        labels=labels(lot, after, verdicts, accepts),
    )


def histogram(before: Floats, after: Floats) -> list[Bin]:
    """Return histograms of both over common bins; values are rounded to 1e-9 so that equal ones share a bin."""
    before, after = np.round(before, 9), np.round(after, 9)
    low, high = min(before.min(), after.min()), max(before.max(), after.max())
    edges = np.linspace(low, high if high > low else low + 1, BINS + 1)
    counts = [np.histogram(each, edges)[0] for each in (before, after)]
    return [
        Bin(float(edges[at]), float(edges[at + 1]), int(a), int(b))
        for at, (a, b) in enumerate(zip(*counts, strict=True))
    ]


def means(lot: Lot, configs: tuple[RewardConfig, RewardConfig]) -> list[Mean]:
    """Return the component means over the rollouts whose ground truth has calls."""
    due = lot.needed > 0
    if not due.any():
        return []
    parts = [lot.parts(config) for config in configs]
    return [
        Mean(
            name,
            (float(parts[0][name][due].mean()), float(parts[1][name][due].mean())),
            (weight(configs[0], name), weight(configs[1], name)),
        )
        for name in COMPONENTS
    ]


def weight(config: RewardConfig, name: str) -> float:
    return float(getattr(config, name)) if config.form == "paper" else 0.0


def groups(lot: Lot, after: Floats) -> Comparison:
    """Return zero-variance groups and swapped pairs as `manage.py rescore` counts them, ignoring groups of one."""
    found = Comparison()
    totals = zip(lot.groups.tolist(), lot.before.tolist(), after.tolist(), strict=True)
    for number, members in groupby(totals, key=lambda one: one[0]):
        pairs = [(old, new) for _, old, new in members]
        if len(pairs) > 1 and number not in lot.broken:
            found.add_group(pairs)
    return found


def spearman(before: Floats, after: Floats) -> float | None:
    """Return the rank correlation."""
    ranks = [compute_ranks(each) for each in (before, after)]
    if any(each.std() == 0 for each in ranks):
        return None
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def compute_ranks(values: Floats) -> Floats:
    """Return ranks, 1 for the largest; values equal to 1e-9 share their mean rank."""
    from scipy.stats import rankdata

    found: Floats = rankdata(-np.round(values, 9))
    return found


def find_rank_changes(lot: Lot, after: Floats) -> list[RankChange]:
    """Return the rollouts with the largest rank changes, ties ordered by the change of the total."""
    change = np.abs(after - lot.before)
    ranks = compute_ranks(lot.before), compute_ranks(after)
    order = np.lexsort([-change, -np.abs(ranks[1] - ranks[0])])[:MOVED]
    return [
        RankChange(lot.rows[at], float(lot.before[at]), float(after[at]), float(ranks[0][at]), float(ranks[1][at]))
        for at in order
        if change[at] > 1e-9
    ]


def labels(lot: Lot, after: Floats, verdicts: Mapping[Place, str], accepts: tuple[float, float]) -> Labels:
    judged = [at for at, row in enumerate(lot.rows) if row.place in verdicts]
    good = np.array([verdicts[lot.rows[at].place] == ACCEPT for at in judged], dtype=bool)
    totals = [lot.before[judged], after[judged]]
    against = [good != (each >= limit - 1e-9) for each, limit in zip(totals, accepts, strict=True)]
    rows = [
        LabelConflict(lot.rows[at], verdicts[lot.rows[at].place], float(old), float(new), bool(already))
        for at, old, new, already, now in zip(judged, *totals, *against, strict=True)
        if now
    ]
    chances = (chance(totals[0][good], totals[0][~good]), chance(totals[1][good], totals[1][~good]))
    rows.sort(key=lambda one: (one.already, -abs(one.after - accepts[1])))
    return Labels(len(judged), int(against[0].sum()), int(against[1].sum()), chances, rows)


def chance(good: Floats, bad: Floats) -> float | None:
    """Return the probability that a value of the first is above one of the second; ties count half."""
    if not len(good) or not len(bad):
        return None
    ranks = compute_ranks(-np.concatenate([good, bad]))
    return float((ranks[: len(good)].sum() - len(good) * (len(good) + 1) / 2) / (len(good) * len(bad)))
