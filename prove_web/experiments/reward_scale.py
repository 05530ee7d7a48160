"""Reward definitions of runs: rewards of training are comparable only between runs that were scored by the same one.

Measurements on held-out worlds are scored by the paper's reward, whatever a run trains by, so they always are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from urllib.parse import urlencode

from training_worker.prove.metrics import BY_NAME, HELD_OUT, TERMS
from training_worker.prove.reward import RewardConfig

from .models import Run, RunKind
from .reward_config import said, scored_by

HELD = {metric.name for metric in HELD_OUT}
# metrics of a step that the definition of the reward decides
SCORED = {one.name for one in (*BY_NAME.values(), *TERMS) if one.unit == "reward"} - HELD


@dataclass(frozen=True)
class Definition:
    """A reward definition in words, and the numbers of the runs that were scored by it."""

    text: str
    runs: tuple[int, ...]


def definition(run: Run) -> RewardConfig | None:
    """Return the reward that a run was scored by; None for the reward of a program of somebody else."""
    return None if run.kind == RunKind.OUTSIDE else scored_by(run)


def same_reward(one: Run, other: Run | None) -> bool:
    return other is None or definition(one) == definition(other)


def in_words(run: Run) -> str:
    """Return the reward of a run as pages write it; of rows of tables, which do not read the configuration, too."""
    if run.kind == RunKind.OUTSIDE:
        return "Its own program's reward"
    reward = run.scored_by if hasattr(run, "scored_by") else run.config.get("reward")
    return said(reward) or "The paper's reward"


def definitions(runs: Iterable[Run]) -> list[Definition]:
    """Return the different reward definitions of these runs, in the order of the runs."""
    found: dict[RewardConfig | None, list[Run]] = {}
    for run in runs:
        found.setdefault(definition(run), []).append(run)
    return [Definition(in_words(lot[0]), tuple(run.number for run in lot)) for lot in found.values()]


def rescored(run: Run, base: Run) -> str:
    """Return the query of the what-if page that scores the baseline's stored rollouts by this run's reward.

    Nothing where one of them was scored by a program of somebody else.
    """
    mine, theirs = definition(run), definition(base)
    if mine is None or theirs is None:
        return ""
    before = asdict(theirs)
    changed = {name: written(value) for name, value in asdict(mine).items() if value != before[name]}
    return urlencode({"of": f"run-{base.number}", **changed})


def written(value: object) -> str:
    """Write a weight so that it reads back as the same number; "none" for a share that does not move."""
    return "none" if value is None else str(value).removesuffix(".0")
