"""Reward as an annotator that accepts from a threshold on: its agreement with people.

Each component is compared in the same way. A verdict of `accept` counts for, `reject` and `fix` count against.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from prove_web.accounts.models import Project

from .agreement import ENOUGH
from .blinding import Blind
from .coefficients import Counts, Estimate, Floats, ac1, alpha, percent
from .models import Item, Queue
from .schema import ACCEPT, FIX, VERDICT
from .visible_labels import get_visible_reviews

COMPONENTS = ("validity", "coverage", "efficiency", "name", "arguments")
PARTS = ("reward", *COMPONENTS)
Basis = Literal["settled", "reviews"]
FEW = 60  # thresholds of a sweep
MIDDLE = 0.65  # of the range of the paper's reward
Z = 1.959964


@dataclass(frozen=True)
class JudgedTrajectory:
    """People's verdict on a trajectory, and its rewards: `scores` has the available parts."""

    item: int
    queue: int
    position: int
    dataset: int
    example: str
    query: str
    trajectory: int
    verdict: str
    scores: dict[str, float]

    @property
    def accepted(self) -> bool:
        return self.verdict == ACCEPT


@dataclass(frozen=True)
class Cut:
    """Acceptance from a threshold on: its agreement with people, its true positive and its false positive rate."""

    threshold: float
    percent: Estimate
    ac1: Estimate
    alpha: Estimate | None
    hits: float | None
    false_alarms: float | None


@dataclass(frozen=True)
class Annotator:
    """A part of the reward compared with people, over `units`, of which people `accepted` some.

    `auc` is the chance that an accepted unit scores higher than another, ties half (the area under the ROC curve);
    `best` is the cut with the highest AC1 on these same units. All None if there are too few units, or if people
    accepted all or none of them.
    """

    part: str
    units: int
    accepted: int
    auc: Estimate | None = None
    cuts: tuple[Cut, ...] = ()

    @property
    def best(self) -> Cut | None:
        return max(self.cuts, key=lambda cut: cut.ac1.value, default=None)

    @property
    def start(self) -> float:
        """The initial threshold: the best, or else the middle of the range of the paper's reward."""
        return self.best.threshold if self.best else MIDDLE

    @property
    def enough(self) -> bool:
        return self.units >= ENOUGH

    @property
    def unmeasurable(self) -> str:
        """Why agreement can't be measured although there are enough units: people decided all of them alike."""
        if not self.enough or 0 < self.accepted < self.units:
            return ""
        return f"Not measurable: people accepted {'all' if self.accepted else 'none'} of them."


def list_judged_trajectories(
    project: Project, queue: Queue | None = None, basis: Basis = "settled", fix: bool = True, blind: Blind | None = None
) -> list[JudgedTrajectory]:
    """Return every settled verdict, or that of each complete review, of a trajectory with a reward.

    Without `fix`, verdicts of `fix` are left out; so are trajectories that the user has yet to review `blind`.
    """
    blind = blind or Blind(None, project)
    rows = of_items(blind, queue) if basis == "settled" else of_reviews(blind, queue)
    return [one for one in rows if fix or one.verdict != FIX]


def of_items(blind: Blind, queue: Queue | None) -> Iterator[JudgedTrajectory]:
    items = Item.objects.filter(queue__project=blind.project, state=Item.State.SETTLED).exclude(verdict="")
    items = blind.exclude_hidden(items, "trajectory")
    items = items.filter(queue=queue) if queue else items
    for row in items.filter(trajectory__reward__isnull=False).order_by("pk").values(*fields("")):
        yield of_row(row, row["verdict"])


def of_reviews(blind: Blind, queue: Queue | None) -> Iterator[JudgedTrajectory]:
    reviews = blind.exclude_hidden(
        get_visible_reviews().filter(item__queue__project=blind.project, adjudicates=False), "item__trajectory"
    )
    reviews = reviews.filter(item__queue=queue) if queue else reviews
    reviews = reviews.filter(item__trajectory__reward__isnull=False).order_by("pk")
    for row in reviews.values("answers", *(f"item__{name}" for name in fields(""))):
        verdict = row["answers"].get(VERDICT) if isinstance(row["answers"], dict) else None
        if isinstance(verdict, str) and verdict:
            yield of_row({name.removeprefix("item__"): value for name, value in row.items()}, verdict)


def fields(prefix: str) -> list[str]:
    own = ["pk", "position", "verdict", "queue__number"]
    of_trajectory = ["pk", "example", "query", "dataset__number", *PARTS]
    return [f"{prefix}{name}" for name in (*own, *(f"trajectory__{name}" for name in of_trajectory))]


def of_row(row: dict[str, Any], verdict: str) -> JudgedTrajectory:
    scores = {part: row[f"trajectory__{part}"] for part in PARTS}
    return JudgedTrajectory(
        item=row["pk"],
        queue=row["queue__number"],
        position=row["position"],
        dataset=row["trajectory__dataset__number"],
        example=row["trajectory__example"],
        query=row["trajectory__query"],
        trajectory=row["trajectory__pk"],
        verdict=verdict,
        scores={part: value for part, value in scores.items() if value is not None},
    )


def annotator(units: Sequence[JudgedTrajectory], part: str = "reward") -> Annotator:
    """Compare a part of the reward over the units that have it; abstentions have only a total."""
    having = [one for one in units if part in one.scores]
    people = np.array([one.accepted for one in having], dtype=bool)
    scores = np.array([one.scores[part] for one in having], dtype=np.float64)
    seen: dict[str, Any] = {"part": part, "units": len(having), "accepted": int(people.sum())}
    if len(having) < ENOUGH or people.all() or not people.any():
        return Annotator(**seen)
    cuts = tuple(cut(people, scores, float(each)) for each in thresholds(scores))
    return Annotator(**seen, auc=auc(people, scores), cuts=cuts)


def thresholds(scores: Floats) -> Floats:
    """Return every distinct value, or quantiles if there are many."""
    found = np.unique(scores)
    return found if len(found) <= FEW else np.unique(np.quantile(found, np.linspace(0, 1, FEW), method="nearest"))


def cut(people: Any, scores: Floats, threshold: float) -> Cut:
    """Return the agreement of accepting from `threshold` on, with both as annotators."""
    accepts = scores >= threshold - 1e-9
    counts = count_verdicts_by_unit(people, accepts)
    shares, beyond = percent(counts), ac1(counts)
    assert shares and beyond  # every unit has two answers
    return Cut(
        threshold=threshold,
        percent=shares,
        ac1=beyond,
        alpha=alpha(counts),
        hits=float(accepts[people].mean()) if people.any() else None,
        false_alarms=float(accepts[~people].mean()) if not people.all() else None,
    )


def count_verdicts_by_unit(people: Any, accepts: Any) -> Counts:
    """Return how many of the two reject and accept, by unit."""
    found: Counts = np.stack([2 - people.astype(np.int64) - accepts, people.astype(np.int64) + accepts], axis=1)
    return found


def auc(people: Any, scores: Floats) -> Estimate | None:
    """Return the area under the ROC curve, with DeLong's interval (DeLong et al. 1988, by ranks: Sun and Xu 2014).

    None if people accepted all or none.
    """
    from scipy.stats import rankdata

    good, bad = scores[people], scores[~people]
    if not len(good) or not len(bad):
        return None
    ranks = rankdata(np.concatenate([good, bad]))
    above = (ranks[: len(good)] - rankdata(good)) / len(bad)  # of each accepted one, the share of others below it
    below = 1 - (ranks[len(good) :] - rankdata(bad)) / len(good)
    value = float(above.mean())
    if min(len(good), len(bad)) < 2 or value in (0.0, 1.0):
        return Estimate(value)
    half = Z * math.sqrt(above.var(ddof=1) / len(good) + below.var(ddof=1) / len(bad))
    return Estimate(value, max(0.0, value - half), min(1.0, value + half))
