"""Saved rewards of a project: offered in the launch form, and used to name the rewards of runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from prove_web.accounts.models import Project, User
from training_worker.reward import PRESETS, BadReward, RewardConfig, read_reward

from .defaults import REWARD
from .models import SavedReward
from .reward_config import describe_reward
from .reward_fields import SAVED, select_changed_settings


def key(one: SavedReward) -> str:
    """Return the reward's value in the launch form."""
    return f"{SAVED}{one.pk}"


def choices(rewards: Iterable[SavedReward]) -> list[tuple[str, str]]:
    """Return the choices for the launch form."""
    return [(key(one), f"{one.name}: {describe_reward(one.config)}") for one in rewards]


def names(rewards: Iterable[SavedReward]) -> dict[str, str]:
    return {key(one): one.name for one in rewards}


def configurations(rewards: Iterable[SavedReward]) -> dict[str, dict[str, Any]]:
    """Return the complete configuration of each reward."""
    return {key(one): {**REWARD, **one.config} for one in rewards}


def save(project: Project, user: User, name: str, config: RewardConfig) -> SavedReward:
    """Save a reward. Raises BadReward for an empty, long or existing name, and for a reward that equals a preset."""
    name = " ".join(name.replace("\0", "").split())
    if not 0 < len(name) <= 60:
        raise BadReward("Enter a reward name of at most 60 characters.")
    if any(config == preset for preset in PRESETS.values()):
        raise BadReward(
            f"This reward already has a name: {describe_reward(asdict(config)) or 'the reward of the paper'}."
        )
    values = {"config": select_changed_settings(asdict(config)), "made_by": user}
    made, new = SavedReward.objects.get_or_create(project=project, name=name, defaults=values)
    if not new:
        raise BadReward(f"A reward named “{name}” already exists. Choose another name.")
    return made


def describe_named_reward(project: Project, given: Mapping[str, Any] | None) -> str:
    """Return the description of a run's reward on its page, with its saved name if it has one."""
    words = describe_reward(given)
    if not given:
        return words
    try:
        config = read_reward(given)
    except BadReward:
        return words
    named = (one.name for one in project.rewards.all() if {**REWARD, **one.config} == asdict(config))
    return f"“{name}”: {words}" if (name := next(named, "")) else words
