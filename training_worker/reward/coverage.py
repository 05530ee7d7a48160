"""The coverage component: the share of ground-truth steps that were done, each after the steps it depends on."""

from __future__ import annotations

from .call_matching import MatchResult


def coverage(matching: MatchResult) -> float:
    """Return C = (1/|G|) sum over g of m(g) o(g), o(g) = product over edges (j, g) of [pos(j) < pos(g)].

    Source: paper, section 3. A parallel step's position is its last call for its successors and its first call for its
    own check.
    """
    steps = range(len(matching.sizes))
    return sum(matching.is_matched(g) and matching.in_order(g) for g in steps) / len(steps)
