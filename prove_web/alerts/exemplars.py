"""Exemplary rollouts for an alert."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from prove_web.experiments.models import RolloutGroup, Run

from .models import Alert

MOST = 5
EQUAL = 1e-6


@dataclass(frozen=True)
class Exemplar:
    """A rollout by its step and its index there, from 1; `why` describes it briefly."""

    step: int
    index: int
    why: str


def exemplars(alert: Alert) -> list[Exemplar]:
    """Return rollouts of the step that fired, or of the newest indexed step before it; none for some rules."""
    rule, run = alert.rule, alert.run
    if rule.source == "patterns":
        return of_patterns(run, alert.step, rule.measured)
    shows = rule.ready_made.shows if rule.ready_made else "worst"
    step = run.groups.filter(step__lte=alert.step).order_by("-step").values_list("step", flat=True).first()
    if not shows or step is None:
        return []
    found = [one for group in run.groups.filter(step=step) for one in rank_matching_rollouts(group, shows)]
    return [Exemplar(step, index, why) for _, index, why in sorted(found)[:MOST]]


def of_patterns(run: Run, step: int, name: str) -> list[Exemplar]:
    looked = run.patterns.filter(step__lte=step).order_by("-step").values_list("step", f"found__{name}__shown")[:3]
    return [Exemplar(at, one["index"], one["why"]) for at, examples in looked for one in examples or ()][:MOST]


def rank_matching_rollouts(group: RolloutGroup, shows: str) -> list[tuple[float, int, str]]:
    """Return the group's matching rollouts as (sort key, index, why)."""
    columns: dict[str, list[Any]] = group.rollouts
    places = range(group.size)
    rewards = columns["reward"]
    match shows:
        case "equal":
            same = group.low is not None and group.high - group.low <= EQUAL and None not in rewards
            why = f"all {group.size} rollouts of the group have reward {group.low:.2f}" if same else ""
            return [(-group.size, group.first, why)] if same else []
        case "failing":
            failed = columns["failed_calls"]
            return [
                (-failed[i], group.first + i, f"{failed[i]} of {len(columns['tools'][i])} calls failed")
                for i in places
                if failed[i]
            ]
        case "long" | "short":
            written = columns["model_tokens"]
            sign = -1 if shows == "long" else 1
            return [
                (sign * written[i], group.first + i, f"{written[i]:,} tokens") for i in places if written[i] is not None
            ]
        case "cut":
            return [
                (0, group.first + i, "truncated at the token limit") for i in places if columns["end"][i] == "tokens"
            ]
    sign = -1 if shows == "best" else 1
    return [(sign * rewards[i], group.first + i, f"reward {rewards[i]:.2f}") for i in places if rewards[i] is not None]
