"""How the settings of a run that is to be differ from those of the run it is measured against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .defaults import START
from .form_fields import plain
from .forms import RunForm, belongs, flat, worded
from .initial_policy import title_of
from .models import Run
from .reward_config import said

LONGEST = 80  # characters of a name


@dataclass(frozen=True)
class Difference:
    label: str
    base: str
    here: str


def differences(base: Run, kind: str, spec: dict[str, Any]) -> list[Difference]:
    """Exactly the settings that differ, what is left out counting as it usually is; the reward in words."""
    found = (
        [Difference("Kind", base.get_kind_display(), dict(Run.kind.field.choices)[kind])] if base.kind != kind else []
    )
    if str(base.dataset.job_id) != spec["dataset"]:
        here = base.project.datasets.filter(job=spec["dataset"]).first()
        found.append(Difference("Dataset", str(base.dataset), str(here)))
    if base.config.get("policy", "warm") != spec["policy"]:
        names = [title_of(str(one), base.project) for one in (base.config.get("policy", "warm"), spec["policy"])]
        found.append(Difference("Initial policy", *names))
    if base.config.get("reward", {}) != spec.get("reward", {}):
        found.append(Difference("Reward", *(said(one.get("reward")) or "the paper's" for one in (base.config, spec))))
    before, after = counted(base.config, base.kind), counted(spec, kind)
    for name in sorted(before.keys() | after.keys(), key=list(RunForm.base_fields).index):
        values = [worded(name, one[name]) if name in one else "" for one in (before, after)]
        if values[0] != values[1]:
            found.append(Difference(str(RunForm.base_fields[name].label), *values))
    return found


def called_by(base: Run, found: Sequence[Difference]) -> str:
    """A name that says what is different in it: `Warm: learning rate 1e-6, seed 3`, as far as that fits."""
    told = ", ".join(f"{one.label.lower()} {one.here}" for one in found if one.here)
    text = f"{base.name.partition(':')[0]}: {told}" if told else ""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def counted(config: dict[str, Any], kind: str) -> dict[str, Any]:
    """Every setting that this kind of run has, by the name of its field; the reward is told apart."""
    given = {name: value for name, value in START.items() if in_config(name) and belongs(name, kind)}
    given |= {name: value for name, value in flat(config).items() if name in RunForm.base_fields and in_config(name)}
    return {name: plain(value) for name, value in given.items()}


def in_config(name: str) -> bool:
    return not name.startswith(("reward_", "benchmark_")) and name != "policy"
