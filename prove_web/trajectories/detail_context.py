"""All that a page shows of one trajectory for people to read and judge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from training_worker.prove.reward import PAPER, RewardConfig
from training_worker.prove.trajectory import Example, Reward, Rollout

from .breakdown import components, parts_of
from .conversation import Turn, of_example, of_rollout
from .demonstration import recorded
from .detail import anatomy
from .lengths import sizes
from .metadata import facts_of
from .models import Trajectory
from .replay_score import Verdict, example_of, judge, rollout_of
from .scoring import config_of

UNREADABLE = "This rollout was recorded by another version of PROVE Studio; its example is shown instead."


def reading(trajectory: Trajectory, *, blind: bool = False) -> dict[str, Any]:
    """What templates/trajectories/reading.html takes. `blind` leaves out what the reward made of it."""
    example = example_of(trajectory)
    if example is None:
        return {"trajectory": trajectory, "example": None}
    rollout, verdict, config, turns = done(trajectory, example, blind=blind)
    known = anatomy(turns, rollout, example, config)
    return {
        "trajectory": trajectory,
        "example": example,
        "attempt": rollout if trajectory.rollout and verdict.problem != UNREADABLE else None,
        "facts": facts_of(example),
        "turns": known.turns,
        "anatomy": known,
        "sizes": sizes(rollout, example),
        "verdict": None if blind else verdict,
        "beside": () if blind else beside(verdict.reward, config),
        "blind": blind,
    }


def done(
    trajectory: Trajectory, example: Example, *, blind: bool = False
) -> tuple[Rollout, Verdict, RewardConfig, list[Turn]]:
    """What was done, its worth, by which reward, and its turns: an attempt as stored, a demonstration run again."""
    attempt = rollout_of(trajectory)
    if attempt is None:
        verdict = Verdict(problem=UNREADABLE) if trajectory.rollout else judge(example)
        reward = None if blind else verdict.reward
        return replace(recorded(example), reward=reward), verdict, PAPER, of_example(example, reward)
    config, scored_by = config_of(trajectory)
    attempt = replace(attempt, reward=None) if blind else attempt
    return attempt, stored(attempt, config, scored_by), config, of_rollout(attempt, example)


def stored(attempt: Rollout, config: RewardConfig, scored_by: str) -> Verdict:
    """The reward of an attempt as it was scored."""
    if attempt.reward is None:
        return Verdict(problem=f"This rollout has no reward: {attempt.error}" if attempt.error else "")
    parts = parts_of(attempt.reward, config)
    return Verdict(attempt.reward, "", parts, config.largest, attempt, scored_by)


def beside(reward: Reward | None, config: RewardConfig) -> tuple[Any, ...]:
    """The paper's components, where another form counts."""
    return components(reward, config) if reward and not reward.abstention and reward.form != "paper" else ()
