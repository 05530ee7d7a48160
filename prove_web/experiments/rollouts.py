"""The rollouts of one step as the trainer kept them: groups of one prompt, with each rollout's advantage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from training_worker.prove.trajectory import Example, Rollout, ToolCall, UnreadableData, adapter, read_lines

from .forms import DEFAULTS
from .models import Run

EQUAL = 1e-6  # a group whose rewards spread less than this carries no signal
LARGEST_REWARD = 1.3


class NoRollouts(Exception):
    """A step whose rollouts cannot be shown; the message says why."""


@dataclass(frozen=True)
class Member:
    """One rollout of a group. `index` counts the step's rollouts from 1, `place` those of its group.

    `advantage` is its reward minus the group's mean; None in a group that a failure of the environment made void.
    """

    index: int
    place: int
    rollout: Rollout
    advantage: float | None

    @property
    def reward(self) -> float | None:
        return self.rollout.reward.total if self.rollout.reward else None

    @property
    def x(self) -> float:
        """Where its reward lies on an axis 100 wide."""
        return round(100 * max(0.0, min(1.0, (self.reward or 0) / LARGEST_REWARD)), 2)

    @property
    def y(self) -> float:
        """Rows apart, so that equal rewards are all seen."""
        return 14 - 5 * ((self.place - 1) % 3)

    @property
    def sign(self) -> str:
        if not self.advantage or abs(self.advantage) <= EQUAL:
            return "even"
        return "good" if self.advantage > 0 else "bad"


@dataclass(frozen=True)
class Group:
    """The rollouts of one prompt; `number` counts the step's groups from 1."""

    number: int
    members: tuple[Member, ...]
    example: Example | None = None

    @property
    def name(self) -> str:
        return self.members[0].rollout.example

    @cached_property
    def rewards(self) -> list[float]:
        return [member.reward for member in self.members if member.reward is not None]

    @property
    def void(self) -> bool:
        return len(self.rewards) < len(self.members)

    @property
    def mean(self) -> float:
        return fmean(self.rewards) if self.rewards else 0.0

    @property
    def mean_x(self) -> float:
        return round(100 * max(0.0, min(1.0, self.mean / LARGEST_REWARD)), 2)

    @property
    def spread(self) -> float:
        return pstdev(self.rewards) if self.rewards else 0.0

    @property
    def silent(self) -> bool:
        """Whether all rewards are the same, so that nothing is learned from it."""
        return not self.void and self.spread <= EQUAL


def size_of_groups(run: Run) -> int:
    return int(run.config.get("group", DEFAULTS["group"]))


def file_of(run: Run, step: int) -> Path:
    return run.job.out / "rollouts" / f"step-{step:06d}.jsonl"


def groups_of(run: Run, step: int) -> list[Group]:
    """The groups of a step in the order they were asked. Raises NoRollouts."""
    try:
        rollouts = list(read_lines(Rollout, file_of(run, step)))
    except FileNotFoundError:
        raise NoRollouts(why_missing(run, step)) from None
    except (OSError, UnreadableData) as error:
        raise NoRollouts("The file of this step's rollouts cannot be read; it may be damaged.") from error
    size = size_of_groups(run)
    parts = [rollouts[i : i + size] for i in range(0, len(rollouts), size)]
    return [group_of(number, part, (number - 1) * size) for number, part in enumerate(parts, 1)]


def group_of(number: int, rollouts: Sequence[Rollout], before: int) -> Group:
    totals = [rollout.reward.total for rollout in rollouts if rollout.reward]
    mean = fmean(totals) if len(totals) == len(rollouts) else None
    return Group(
        number,
        tuple(
            Member(before + place, place, rollout, rollout.reward.total - mean if mean is not None else None)
            for place, rollout in enumerate(rollouts, 1)
        ),
    )


def why_missing(run: Run, step: int) -> str:
    reached = run.points.order_by("-step").values_list("step", flat=True).first() or 0
    if step > reached:
        return f"Run {run.number} has not done step {step} yet; it is at step {reached}."
    if not run.job.folder.exists():
        return "The run's folder is gone from the data folder, and its rollouts with it."
    return f"There is no file of the rollouts of step {step} in the run's folder; its curves are kept all the same."


def examples_of(run: Run, names: Sequence[str]) -> dict[str, Example]:
    """What the rollouts were asked, by the example's id; those of a data set that was made anew are missing."""
    found = run.dataset.trajectories.filter(example__in=set(names)).values_list("example", "record")
    return {name: adapter(Example).validate_json(as_json(record)) for name, record in found}


def as_json(record: Any) -> bytes:
    return adapter(dict).dump_json(record)


def notable(run: Run) -> list[tuple[str, int]]:
    """Steps worth a look: the first, the newest, the best, those with most failing calls and spread."""
    points = run.points.all()
    ranked = {
        "First": points.order_by("step"),
        "Newest": points.order_by("-step"),
        "Best reward": points.order_by("-metrics__reward", "-step"),
        "Most failing calls": points.order_by("-metrics__tool_failures", "-step"),
        "Widest spread": points.order_by("-metrics__reward_std", "-step"),
    }
    found: dict[int, str] = {}
    for name, order in ranked.items():
        step = order.values_list("step", flat=True).first()
        if step is not None:
            found.setdefault(step, name)
    return [(name, step) for step, name in found.items()]


@dataclass(frozen=True)
class TruthStep:
    """One step of the ground truth, and whether this rollout missed it; numbers count from 1."""

    number: int
    calls: tuple[ToolCall, ...]
    needs: tuple[int, ...]
    missed: bool


def truth(example: Example, rollout: Rollout) -> list[TruthStep]:
    missed = set(rollout.reward.missed_steps) if rollout.reward else set(range(len(example.steps)))
    return [
        TruthStep(at + 1, step.calls, tuple(j + 1 for j, g in example.edges if g == at), at in missed)
        for at, step in enumerate(example.steps)
    ]
