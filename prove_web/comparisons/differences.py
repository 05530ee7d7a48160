"""Configurations of runs, field by field, and the fields in which they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prove_web.experiments.config_display import as_text, get_logged_config
from prove_web.experiments.defaults import EVALUATE, REWARD, START
from prove_web.experiments.form_fields import format_config_value
from prove_web.experiments.forms import RunForm, belongs, format_setting, map_config_to_fields, of_reward
from prove_web.experiments.models import Run, RunKind
from prove_web.experiments.outside import limits as outside
from prove_web.experiments.reward_fields import as_fields

from .params import MADE

Settings = dict[str, str]  # by form field name, as text
SHORT = 12  # characters of a digest
DIGESTS = ("content", "servers", "schemas", "code")
BEYOND = {"dataset": "Dataset", "kind": "Kind", "policy": "Initial policy"}


@dataclass(frozen=True)
class Field:
    """A setting with one value per run, "" where a run lacks it; `odd` marks values that differ from the baseline's."""

    name: str
    label: str
    values: tuple[str, ...]
    odd: tuple[bool, ...]

    @property
    def differs(self) -> bool:
        return len(set(self.values)) > 1

    @property
    def cells(self) -> list[tuple[str, bool]]:
        return list(zip(self.values, self.odd, strict=True))


def settings_of(run: Run) -> Settings:
    """Return all settings of a run including defaults; settings that its kind does not have are omitted."""
    if run.kind == RunKind.OUTSIDE:
        given = outside.settings(get_logged_config(run))
        return {"kind": run.get_kind_display(), **{name: as_text(value) for name, value in given.items()}}
    usual = {name: value for name, value in START.items() if name not in EVALUATE and belongs(name, run.kind)}
    rewards = as_fields({**REWARD, **(run.config.get("reward") or {})}) if run.kind != "sft" else {}
    given = map_config_to_fields({name: value for name, value in run.config.items() if name != "reward"})
    found = {name: format_setting(name, value) for name, value in {**usual, **rewards, **given}.items()}
    found |= {"kind": format_setting("kind", run.kind), "dataset": f"#{run.dataset.number} {run.dataset.called}"}
    return {"policy": "warm", **found}


def label(name: str) -> str:
    if name in BEYOND:
        return BEYOND[name]
    field = RunForm.base_fields.get(name)
    words = str(field.label) if field is not None and field.label else name.replace("_", " ").capitalize()
    return f"Reward: {words.lower()}" if of_reward(name) and name != "reward_preset" else words


def fields(runs: Sequence[Run], base: Run | None = None) -> list[Field]:
    """Return every setting that any of the runs has, in the order of the launch form."""
    configs = [settings_of(run) for run in runs]
    known = ["dataset", "kind", "policy", *RunForm.base_fields]
    names = dict.fromkeys(name for one in configs for name in one)
    order = [*(name for name in dict.fromkeys(known) if name in names), *(n for n in names if n not in known)]
    return [field(name, label(name), [one.get(name, "") for one in configs], runs, base) for name in order]


def field(name: str, words: str, values: Sequence[str], runs: Sequence[Run], base: Run | None) -> Field:
    own = values[list(runs).index(base)] if base in runs else values[0]
    return Field(name, words, tuple(values), tuple(value != own for value in values))


def environments(runs: Sequence[Run], base: Run | None = None) -> list[Field]:
    """Return how each run's dataset was made (code, tools and teacher) according to the dataset manifest."""
    found = []
    for name, words in MADE.items():
        values = [format_config_value(getattr(run, f"made_{name}", None)) for run in runs]
        shortened = [value[:SHORT] if name in DIGESTS else value for value in values]
        found.append(field(name, words, shortened, runs, base))
    return found
