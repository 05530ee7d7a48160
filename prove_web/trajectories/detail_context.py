"""Template context of the detail view of a trajectory."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from prove_web.experiments.models import Run
from prove_web.experiments.reward_config import describe_reward, scored_at
from training_worker.chat.schemas import get_tool_schemas
from training_worker.core.trajectory import Example, Reward, Rollout
from training_worker.reward import PAPER, RewardConfig

from .breakdown import components, parts_of
from .conversation import Turn, of_example, of_rollout
from .demonstration import build_demonstration_rollout
from .detail import anatomy
from .metadata import facts_of
from .models import Trajectory
from .replay_score import Verdict, example_of, judge, rollout_of

# Length of a conversation in characters, by role: a trajectory has no tokens before a tokenizer reads it.

ROLES = {
    "tools": "Tool schemas",
    "system": "System",
    "user": "User",
    "assistant": "Assistant",
    "tool": "Tool results",
}


@dataclass(frozen=True)
class Size:
    """Characters of one role; `share` is a percentage of all, 0 to 100."""

    title: str
    characters: int
    share: float


def sizes(rollout: Rollout, example: Example) -> tuple[Size, ...]:
    """Count the characters that a model reads and writes, by role; schemas of removed tools are not counted."""
    counted = dict.fromkeys(ROLES, 0)
    with suppress(KeyError):
        counted["tools"] = sum(len(json.dumps(tool, ensure_ascii=False)) for tool in get_tool_schemas(example))
    for message in rollout.transcript:
        counted[message.role] += len(message.content)
    total = sum(counted.values()) or 1
    return tuple(Size(ROLES[role], count, 100 * count / total) for role, count in counted.items() if count)


# Reward configuration of a rollout: that of its run, at its step.


def config_of(trajectory: Trajectory) -> tuple[RewardConfig, str]:
    """Return the reward configuration and its label; the paper's with an empty label if the run is gone."""
    run = run_of(trajectory)
    step = trajectory.origin.get("step") if run else None
    if run is None or not isinstance(step, int):
        return PAPER, ""
    return scored_at(run, step), describe_reward(run.config.get("reward"))


def run_of(trajectory: Trajectory) -> Run | None:
    """Return the run that produced a rollout, or None."""
    number = trajectory.origin.get("run")
    if trajectory.rollout is None or not isinstance(number, int):
        return None
    found: Run | None = Run.objects.filter(project=trajectory.dataset.project_id, number=number).first()
    return found


UNREADABLE = "This rollout was recorded by another version of PROVE Studio; its example is shown instead."


def build_reading_context(trajectory: Trajectory, *, blind: bool = False) -> dict[str, Any]:
    """Return the context of templates/trajectories/reading.html. `blind` hides what depends on the reward."""
    example = example_of(trajectory)
    if example is None:
        return {"trajectory": trajectory, "example": None}
    rollout, verdict, config, turns = load_scored_rollout(trajectory, example, blind=blind)
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
        "beside": () if blind else get_paper_components(verdict.reward, config),
        "blind": blind,
    }


def load_scored_rollout(
    trajectory: Trajectory, example: Example, *, blind: bool = False
) -> tuple[Rollout, Verdict, RewardConfig, list[Turn]]:
    """Return the rollout, verdict, reward configuration and turns: a rollout as stored, a demonstration replayed."""
    attempt = rollout_of(trajectory)
    if attempt is None:
        verdict = Verdict(problem=UNREADABLE) if trajectory.rollout else judge(example)
        reward = None if blind else verdict.reward
        return replace(build_demonstration_rollout(example), reward=reward), verdict, PAPER, of_example(example, reward)
    config, scored_by = config_of(trajectory)
    attempt = replace(attempt, reward=None) if blind else attempt
    return attempt, get_stored_verdict(attempt, config, scored_by), config, of_rollout(attempt, example)


def get_stored_verdict(attempt: Rollout, config: RewardConfig, scored_by: str) -> Verdict:
    """Return the reward of a rollout as it was scored."""
    if attempt.reward is None:
        return Verdict(problem=f"This rollout has no reward: {attempt.error}" if attempt.error else "")
    parts = parts_of(attempt.reward, config)
    return Verdict(attempt.reward, "", parts, config.largest, attempt, scored_by)


def get_paper_components(reward: Reward | None, config: RewardConfig) -> tuple[Any, ...]:
    """Return the paper's components if another form counts, else nothing."""
    return components(reward, config) if reward and not reward.abstention and reward.form != "paper" else ()
