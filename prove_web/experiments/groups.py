"""A rollout and its group as the pages show them, read off what is kept of each in short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from math import isfinite
from statistics import fmean, pstdev

from training_worker.prove.reward.success import succeeded
from training_worker.prove.store.record import SUCCEEDED, Summary
from training_worker.prove.trajectory import Example

EQUAL = 1e-6  # a group whose rewards spread less than this carries no signal


@dataclass(frozen=True)
class CallSummary:
    """A call in short: its tool, whether the server did it, and what became of it ("" where nobody told)."""

    tool: str
    ok: bool
    outcome: str = ""


@dataclass(frozen=True)
class Member:
    """One rollout of a group. `index` counts the step's rollouts from 1, `place` those of its group.

    `advantage` is the one it was trained with; None in a group that was not, be it that a failure of the environment
    made it void, or that the run left it out.
    """

    index: int
    place: int
    reward: float | None
    advantage: float | None
    end: str
    calls: tuple[CallSummary, ...] = ()
    components: dict[str, float | None] = field(default_factory=dict)
    tokens: int | None = field(default=None, compare=False)  # that the model wrote
    group: int = 0
    example: str = ""
    success: bool = False

    @property
    def undone(self) -> bool:
        """Whether no step of the ground truth was done, as far as its components tell."""
        return self.components.get("coverage") == 0 and not self.success

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
    """The rollouts of one prompt; `number` counts the step's groups from 1, `top` is the most that one can earn."""

    number: int
    name: str
    members: tuple[Member, ...]
    top: float
    example: Example | None = None
    only: frozenset[int] | None = None  # the indices of those that are asked for

    @property
    def visible_members(self) -> list[Member]:
        return [member for member in self.members if self.only is None or member.index in self.only]

    @property
    def unused(self) -> bool:
        """Whether nothing was learned from it although all of its rollouts have a reward."""
        return not self.void and all(member.advantage is None for member in self.members)

    @cached_property
    def rewards(self) -> list[float]:
        return [member.reward for member in self.members if member.reward is not None]

    @property
    def void(self) -> bool:
        return len(self.rewards) < len(self.members)

    @property
    def mean(self) -> float:
        return fmean(self.rewards) if self.rewards else 0.0

    def along(self, reward: float) -> float:
        """Where a reward lies on an axis 100 wide, from 0 to the most."""
        return round(100 * max(0.0, min(1.0, reward / self.top)), 2)

    @property
    def mean_x(self) -> float:
        return self.along(self.mean)

    @property
    def dots(self) -> list[tuple[float, Member]]:
        return [(self.along(member.reward), member) for member in self.members if member.reward is not None]

    @property
    def spread(self) -> float:
        return pstdev(self.rewards) if self.rewards else 0.0

    @property
    def silent(self) -> bool:
        """Whether all rewards are the same, so that nothing is learned from it."""
        return not self.void and self.spread <= EQUAL

    @property
    def alike(self) -> str:
        """Why there is no signal: all `succeeded`, all `failed` to do any step, or all are the `same`; "" with one."""
        if not self.silent or not self.members:
            return ""
        if all(member.success for member in self.members):
            return "succeeded"
        return "failed" if all(member.undone for member in self.members) else "same"


def group_of(members: Sequence[Summary], most: float) -> Group:
    return Group(members[0].group, members[0].example, tuple(map(member_of, members)), most)


def member_of(one: Summary) -> Member:
    told = zip_longest(one.tools, (level >= SUCCEEDED for level in one.levels), one.outcomes or (), fillvalue="")
    return Member(
        index=one.index,
        place=one.place,
        reward=finite(one.reward),
        advantage=finite(one.advantage),
        end=one.end,
        calls=tuple(CallSummary(str(tool), bool(ok), str(word)) for tool, ok, word in told),
        components={name: finite(value) for name, value in one.components.items()},
        tokens=one.model_tokens,
        group=one.group,
        example=one.example,
        success=succeeded(one.reward, one.abstention, one.components),
    )


def finite(number: float | None) -> float | None:
    """A number that can be drawn and averaged; what is none counts as missing."""
    return number if number is not None and isfinite(number) else None
