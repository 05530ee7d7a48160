"""Rewards that a team gave a name: in the launch form beside those of papers, and told where a run was scored so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from prove_web.accounts.models import Project, User
from training_worker.prove.reward import PRESETS, BadReward, RewardConfig, read_reward

from .defaults import REWARD
from .models import SavedReward
from .reward_config import said
from .reward_fields import SAVED, changed


def key(one: SavedReward) -> str:
    """What the launch form calls it."""
    return f"{SAVED}{one.pk}"


def choices(rewards: Iterable[SavedReward]) -> list[tuple[str, str]]:
    """As the launch form offers them."""
    return [(key(one), f"{one.name}: {said(one.config)}") for one in rewards]


def names(rewards: Iterable[SavedReward]) -> dict[str, str]:
    return {key(one): one.name for one in rewards}


def configurations(rewards: Iterable[SavedReward]) -> dict[str, dict[str, Any]]:
    """Each with all of its fields."""
    return {key(one): {**REWARD, **one.config} for one in rewards}


def save(project: Project, user: User, name: str, config: RewardConfig) -> SavedReward:
    """Raises BadReward for a name that is empty, too long or taken, and for a reward that a preset is already."""
    name = " ".join(name.replace("\0", "").split())
    if not 0 < len(name) <= 60:
        raise BadReward("Enter a reward name of at most 60 characters.")
    if any(config == preset for preset in PRESETS.values()):
        raise BadReward(f"This reward already has a name: {said(asdict(config)) or 'the reward of the paper'}.")
    told = {"config": changed(asdict(config)), "made_by": user}
    made, new = SavedReward.objects.get_or_create(project=project, name=name, defaults=told)
    if not new:
        raise BadReward(f"A reward named “{name}” already exists. Choose another name.")
    return made


def called(project: Project, given: Mapping[str, Any] | None) -> str:
    """A run's reward as its page writes it: by the name that the team gave it, where it did."""
    words = said(given)
    if not given:
        return words
    try:
        config = read_reward(given)
    except BadReward:
        return words
    named = (one.name for one in project.rewards.all() if {**REWARD, **one.config} == asdict(config))
    return f"“{name}”: {words}" if (name := next(named, "")) else words
