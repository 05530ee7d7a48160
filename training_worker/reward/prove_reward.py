"""The total PROVE reward of one rollout: the weighted components, with the evidence for each call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum

from ..core.trajectory import Evidence, ExecutedCall, Reward, Step
from .abstention import abstains, abstention
from .arguments import arguments
from .call_matching import MatchResult, match
from .config import RewardConfig
from .coverage import coverage
from .efficiency import efficiency
from .name import names, score_names
from .presets import PAPER
from .validity import validity

COMPONENTS = ("validity", "coverage", "efficiency", "name", "arguments")


def score(
    steps: Sequence[Step],
    edges: Iterable[tuple[int, int]],
    calls: Sequence[ExecutedCall],
    weights: RewardConfig = PAPER,
) -> Reward:
    """Return R = 0.5 V + 0.5 C + 0.15 F + 0.2 M + 0.1 A (paper, section 3, total), or only the abstention reward.

    `steps` and `calls` are those of all turns, in order. The maximum total is 1.3, for abstention 1.0.
    """
    matching = match(steps, edges, calls)
    if abstains(steps):
        return Reward(total=abstention(calls), abstention=True, evidence=explain(steps, calls, matching))
    v, c = validity(calls), coverage(matching)
    f = efficiency(len(calls), sum(matching.sizes), weights.alpha, weights.beta)
    m, a = score_names(steps, calls), arguments(matching)
    return Reward(
        total=fsum(getattr(weights, part) * value for part, value in zip(COMPONENTS, (v, c, f, m, a), strict=True)),
        validity=v,
        coverage=c,
        efficiency=f,
        name=m,
        arguments=a,
        evidence=explain(steps, calls, matching),
        missed_steps=tuple(g for g in range(len(steps)) if not matching.is_matched(g)),
    )


def explain(steps: Sequence[Step], calls: Sequence[ExecutedCall], matching: MatchResult) -> tuple[Evidence, ...]:
    """Return the evidence for every model call: its matched step and its scores."""
    wanted = names(steps)
    pairs = {pair.position: pair for pair in matching.pairs}
    evidence = []
    for position, made in enumerate(calls):
        named, pair = made.call.name in wanted, pairs.get(position)
        if pair is None:
            evidence.append(Evidence(position, made.level, named))
        else:
            in_order = matching.in_order(pair.step)
            evidence.append(Evidence(position, made.level, named, pair.step, in_order, pair.share, pair.wrong))
    return tuple(evidence)
