"""Two evaluations side by side, item by item: what flipped each way, and whether that may be chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .protocol import Identity, Result


class NotComparable(Exception):
    """Two evaluations that say nothing about each other; says why."""


@dataclass(frozen=True, kw_only=True)
class Paired:
    """The items that both ran.

    `gained` passed only the second time and `lost` only the first; `p` is McNemar's exact two-sided p-value.
    """

    items: int
    first: float
    second: float
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    p: float


def require_comparable(first: Identity, second: Identity) -> None:
    """Raises NotComparable for other benchmarks, and for other versions of one."""
    for one, other in ((first.benchmark, second.benchmark), (first.version, second.version)):
        if one != other:
            raise NotComparable(
                f"Scores of {first.benchmark} {first.version} and {second.benchmark} {second.version} do not compare: "
                "evaluate both models on one version."
            )


def paired(first: Mapping[str, Result], second: Mapping[str, Result]) -> Paired:
    """Raises NotComparable when no item was run by both."""
    both = sorted(first.keys() & second.keys())
    if not both:
        raise NotComparable("There is no item that both evaluations have run.")
    gained = tuple(id for id in both if second[id].passed and not first[id].passed)
    lost = tuple(id for id in both if first[id].passed and not second[id].passed)
    shares = [sum(one[id].passed for id in both) / len(both) for one in (first, second)]
    p = mcnemar(len(gained), len(lost))
    return Paired(items=len(both), first=shares[0], second=shares[1], gained=gained, lost=lost, p=p)


def mcnemar(gained: int, lost: int) -> float:
    """The exact test: under chance alone, what flips goes either way with equal probability (McNemar 1947)."""
    from scipy.stats import binomtest  # half a second that only comparisons pay

    return float(binomtest(gained, gained + lost, 0.5).pvalue) if gained + lost else 1.0
