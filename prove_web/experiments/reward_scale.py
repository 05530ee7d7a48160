"""Reward definitions of runs; training rewards are comparable only between runs with the same definition.

Held-out evaluations always use the paper's reward, so they are always comparable.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from urllib.parse import urlencode

from training_worker.monitoring.metrics import BY_NAME, HELD_OUT, TERMS
from training_worker.reward import RewardConfig

from .models import Run, RunKind
from .reward_config import describe_reward, scored_by

HELD = {metric.name for metric in HELD_OUT}
# step metrics that depend on the reward definition
SCORED = {one.name for one in (*BY_NAME.values(), *TERMS) if one.unit == "reward"} - HELD


@dataclass(frozen=True)
class Definition:
    """A reward definition in words, and the numbers of the runs that use it."""

    text: str
    runs: tuple[int, ...]


def definition(run: Run) -> RewardConfig | None:
    """Return the reward definition of a run; None for an external run."""
    return None if run.kind == RunKind.OUTSIDE else scored_by(run)


def same_reward(one: Run, other: Run | None) -> bool:
    return other is None or definition(one) == definition(other)


def in_words(run: Run) -> str:
    """Return a description of the run's reward; also for table rows, which do not load the configuration."""
    if run.kind == RunKind.OUTSIDE:
        return "Its own program's reward"
    reward = run.scored_by if hasattr(run, "scored_by") else run.config.get("reward")
    return describe_reward(reward) or "The paper's reward"


def definitions(runs: Iterable[Run]) -> list[Definition]:
    """Return the different reward definitions of these runs, in the order of the runs."""
    found: dict[RewardConfig | None, list[Run]] = {}
    for run in runs:
        found.setdefault(definition(run), []).append(run)
    return [Definition(in_words(lot[0]), tuple(run.number for run in lot)) for lot in found.values()]


def build_rescore_query(run: Run, base: Run) -> str:
    """Return the reward replay query that scores the baseline's stored rollouts with this run's reward.

    Empty if one of them is an external run.
    """
    mine, theirs = definition(run), definition(base)
    if mine is None or theirs is None:
        return ""
    before = asdict(theirs)
    changed = {name: format_weight(value) for name, value in asdict(mine).items() if value != before[name]}
    return urlencode({"of": f"run-{base.number}", **changed})


def format_weight(value: object) -> str:
    """Format a weight so that it parses back to the same number; "none" for a constant trace weight."""
    return "none" if value is None else str(value).removesuffix(".0")
