"""The arguments component: the share of the ground truth's argument values that the matched calls have."""

from __future__ import annotations

from math import fsum

from .call_matching import MatchResult


def arguments(matching: MatchResult) -> float:
    """Return A = mean over matched pairs of (equal values / ground-truth arguments).

    Source: paper, section 3, argument values. A ground-truth call without arguments scores 1; without any pair the
    component is 0.
    """
    pairs = matching.pairs
    return fsum(pair.share for pair in pairs) / len(pairs) if pairs else 0.0
