"""Re-scoring of stored rollouts with another reward, and its effect on means, zero-variance groups and ranks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, groupby

from mcp_servers.catalogue import SERVERS, behaves_otherwise, fingerprint

from ..core.trajectory import Example, Reward, Rollout, UnreadableData
from ..reward import RewardConfig, reward_of
from ..reward.prove_reward import COMPONENTS
from .episode import StaleExample

EQUAL = 1e-6  # a group whose rewards differ by no more than this has zero variance

Pair = tuple[float, float]  # the totals of one rollout before and after


class UnknownExample(UnreadableData):
    """A rollout of an example that the dataset does not have."""


def rescore(
    examples: Mapping[str, Example], rollouts: Iterable[Rollout], config: RewardConfig
) -> Iterator[Reward | None]:
    """Yield the reward of each rollout under this configuration; None if it failed through no fault of the policy.

    Raises UnknownExample, and StaleExample if the reward needs the world and its servers behave differently now.
    """
    fit: set[str] = set()
    for rollout in rollouts:
        if not rollout.valid:
            yield None
            continue
        example = examples.get(rollout.example)
        if example is None:
            raise UnknownExample(
                f"The dataset has no example {rollout.example}. Pass the dataset of these rollouts with --data."
            )
        if config.needs_world and example.id not in fit:
            require_todays(example)
            fit.add(example.id)
        yield reward_of(example, rollout, config)


def require_todays(example: Example) -> None:
    """Raise StaleExample for an example whose world cannot be opened as it was."""
    servers = example.world.servers
    if not example.source and (set(servers) - SERVERS.keys() or example.fingerprint != fingerprint(servers)):
        raise StaleExample(
            f"{example.id}: {behaves_otherwise(servers, example.fingerprint)}, so its world cannot be compared. "
            "Use the reward form paper or graduated, which need no world."
        )


@dataclass
class Comparison:
    """A comparison of rollouts under two rewards; group counts exclude groups with a rollout without a reward.

    A group is dead if it has zero variance: all its rewards are equal. `pairs` counts the pairs of rollouts of one
    group whose rewards differed before, and `swapped` those of them whose order is reversed now.
    """

    rollouts: int = 0
    without_reward: int = 0
    before: Means = field(default_factory=lambda: Means())
    after: Means = field(default_factory=lambda: Means())
    groups: int = 0
    dead_before: int = 0
    dead_after: int = 0
    died: int = 0
    revived: int = 0
    pairs: int = 0
    swapped: int = 0
    reordered: int = 0

    def add(
        self, rollouts: Sequence[Rollout], rewards: Sequence[Reward | None], groups: Sequence[int] | None = None
    ) -> None:
        """Add the rollouts of one step, in order, with the group of each.

        Without `groups`, consecutive rollouts of one example are a group.
        """
        of = groups if groups is not None else [rollout.example for rollout in rollouts]
        for _, members in groupby(zip(of, rollouts, rewards, strict=True), key=lambda one: one[0]):
            scored = [(rollout.reward, reward) for _, rollout, reward in members]
            known = [(old, new) for old, new in scored if old and new]
            self.rollouts += len(known)
            self.without_reward += len(scored) - len(known)
            for old, new in known:
                self.before.add(parts(old))
                self.after.add(parts(new))
            if len(known) == len(scored):
                self.add_group([(old.total, new.total) for old, new in known])

    def add_group(self, totals: Sequence[Pair]) -> None:
        then, now = ([one[side] for one in totals] for side in (0, 1))
        dead, dies = (max(each) - min(each) <= EQUAL for each in (then, now))
        apart = [(a, b) for a, b in combinations(totals, 2) if abs(a[0] - b[0]) > EQUAL]
        swapped = sum((a[0] - b[0]) * (a[1] - b[1]) < 0 and abs(a[1] - b[1]) > EQUAL for a, b in apart)
        self.groups += 1
        self.dead_before += dead
        self.dead_after += dies
        self.died += dies and not dead
        self.revived += dead and not dies
        self.pairs += len(apart)
        self.swapped += swapped
        self.reordered += swapped > 0


@dataclass
class Means:
    """The sum of each reward part, and the number of rollouts that have it."""

    sums: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
            self.counts[name] = self.counts.get(name, 0) + 1

    def means(self) -> dict[str, float]:
        return {name: value / self.counts[name] for name, value in self.sums.items()}


def parts(reward: Reward) -> dict[str, float]:
    """Return the total, the components and any terms; for abstention only the total."""
    if reward.abstention:
        return {"total": reward.total}
    return {"total": reward.total} | {name: getattr(reward, name) for name in COMPONENTS} | reward.terms
