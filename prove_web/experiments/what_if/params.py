"""Query parameters of the reward replay page: the rollouts and the reward configuration."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlencode

from prove_web.accounts.models import Project
from prove_web.core.parse_int import parse_digits
from prove_web.trajectories.models import Dataset
from training_worker.reward import PAPER, PRESETS, BadReward, RewardConfig, read_reward

from ..defaults import REWARD
from ..form_fields import format_config_value
from ..models import Run, RunKind
from ..reward_fields import RewardFields
from ..reward_scale import format_weight
from .of_dataset import DatasetSource
from .of_run import RunSource
from .source import Source

MOST = (2_000, 20_000, 100_000)  # choices for the maximum number of rollouts
USUAL = 20_000
MOST_COMPLETE = 2_000  # limit for reward forms that need complete rollouts
ACCEPT = 0.5  # as a share of the maximum reward: from there on a reward counts as accepting


@dataclass(frozen=True)
class WhatIfParams:
    """The parsed parameters; `source` is None if the project has nothing to score.

    `fault` says what is wrong with the configuration, which is then the source's own. `accept` is a share of the
    maximum reward of a rollout.
    """

    source: Source | None
    config: RewardConfig
    first: int | None = None
    last: int | None = None
    most: int = USUAL
    accept: float = ACCEPT
    fault: str = ""

    @property
    def own(self) -> RewardConfig:
        return self.source.config if self.source else self.config

    def query(self, config: RewardConfig | None = None) -> str:
        """Return the equivalent query string, optionally with another configuration; default values are omitted."""
        before, after = asdict(self.own), asdict(config or self.config)
        fields: dict[str, Any] = {"of": self.source.name} if self.source else {}
        fields |= {"first": self.first, "last": self.last}
        fields |= {"most": self.most} if self.most != USUAL else {}
        fields |= {"accept": format_config_value(self.accept)} if self.accept != ACCEPT else {}
        fields |= {name: format_weight(value) for name, value in after.items() if value != before[name]}
        return urlencode({name: value for name, value in fields.items() if value is not None})


def parse_params(project: Project, given: Mapping[str, str]) -> WhatIfParams:
    """Parse the parameters; missing ones have their defaults, and missing weights are the source's own."""
    first, last = (parse_digits(given.get(name, "")) for name in ("first", "last"))
    source = source_of(project, given.get("of", ""), first, last)
    own = source.config if source else PRESETS["paper"]
    named = given.get("preset", "")
    start = PRESETS[named] if named in PRESETS else load_saved_reward(project, named) or own
    rest = {
        "first": first,
        "last": last,
        "most": most if (most := parse_digits(given.get("most", ""))) in MOST else USUAL,
        "accept": share(given.get("accept", "")),
    }
    fields = {name: read(given[name]) for name in REWARD if given.get(name, "").strip()}
    try:
        return WhatIfParams(source, validate_reward_limits(read_reward({**asdict(start), **fields}), own), **rest)
    except BadReward as why:
        return WhatIfParams(source, own, fault=str(why), **rest)


def validate_reward_limits(config: RewardConfig, own: RewardConfig = PAPER) -> RewardConfig:
    """Return the configuration if every number is within the launch form's limit or the source's value.

    Raises BadReward.
    """
    for name in REWARD:
        most = getattr(RewardFields.base_fields[f"reward_{name}"], "max_value", None)
        value, before = getattr(config, name), getattr(own, name)
        if most is not None and value is not None and value > max(most, before or 0):
            raise BadReward(f"{name} must be at most {most}, not {format_config_value(value)}")
    return config


def load_saved_reward(project: Project, name: str) -> RewardConfig | None:
    """Return a saved reward of the project by its number."""
    number = parse_digits(name.removeprefix("saved-"))
    found = project.rewards.filter(pk=number).first() if number else None
    return read_reward(found.config) if found else None


def source_of(project: Project, name: str, first: int | None, last: int | None) -> Source | None:
    """Return the named run or dataset; without a name the newest run with rollouts, else the newest dataset."""
    kind, _, number = name.partition("-")
    if kind == "run" and (found := runs(project).filter(number=parse_digits(number) or 0).first()):
        return RunSource(found, first, last)
    if kind == "dataset" and (data := datasets(project).filter(number=parse_digits(number) or 0).first()):
        return DatasetSource(data)
    if newest := runs(project).filter(groups__isnull=False).distinct().first():
        return RunSource(newest, first, last)
    newest_data = datasets(project).first()
    return DatasetSource(newest_data) if newest_data else None


def runs(project: Project) -> Any:
    return Run.objects.filter(project=project, kind=RunKind.GRPO).select_related("dataset", "job", "project")


def datasets(project: Project) -> Any:
    return Dataset.objects.complete().filter(project=project)


def read(text: str) -> float | str | None:
    """Parse a number; other text is returned unchanged for the configuration to reject."""
    text = text.strip()
    if text == "none":
        return None
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text


def share(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        return ACCEPT
    return number if 0 <= number <= 1 else ACCEPT
