"""Groups of runs that differ only by seed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from prove_web.experiments.forms import of_reward
from prove_web.experiments.models import Run

from .differences import Settings, label, settings_of

SEED, PRESET = "seed", "reward_preset"


@dataclass(frozen=True)
class Group:
    """Runs of one configuration; `number` counts groups from 0, `title` names the settings that distinguish it."""

    number: int
    title: str
    runs: tuple[Run, ...]


def groups(runs: Sequence[Run]) -> list[Group]:
    """Return the groups in the order of their first runs."""
    found: dict[str, list[Run]] = {}
    configs = {run.pk: without_seed(settings_of(run)) for run in runs}
    for run in runs:
        found.setdefault(json.dumps(configs[run.pk], sort_keys=True), []).append(run)
    firsts = [configs[members[0].pk] for members in found.values()]
    apart = [name for name in collect_names(firsts) if len({one.get(name) for one in firsts}) > 1]
    apart = [name for name in apart if name == PRESET or not (of_reward(name) and PRESET in apart)]
    return [
        Group(number, title(members, firsts[number], apart), tuple(members))
        for number, members in enumerate(found.values())
    ]


def build_single_run_groups(runs: Sequence[Run]) -> list[Group]:
    return [Group(at, f"Run {run.number}, {run.name}", (run,)) for at, run in enumerate(runs)]


def without_seed(settings: Settings) -> Settings:
    return {name: value for name, value in settings.items() if name != SEED}


def collect_names(settings: Sequence[Settings]) -> list[str]:
    return list(dict.fromkeys(name for one in settings for name in one))


def title(members: Sequence[Run], settings: Settings, apart: Sequence[str]) -> str:
    """Return the run's own name for a single run, else the distinguishing settings and the number of seeds."""
    if len(members) == 1:
        return f"Run {members[0].number}, {members[0].name}"
    words = ", ".join(f"{label(name)} {settings.get(name, '')}".strip() for name in apart[:3]) or members[0].name
    return f"{words} ({len(members)} seeds)"
