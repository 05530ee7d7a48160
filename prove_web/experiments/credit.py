"""Reward ledger of a rollout: points that each call earned and lost per component, in units of the total.

Only the paper's reward is a sum over calls; other forms have no ledger. The shares restate the formulas of
training_worker/reward/ (one file each) call by call; the sum of a column is the component times its weight.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from training_worker.core.trajectory import Evidence, Example, Reward, Rollout
from training_worker.reward import PAPER, RewardConfig
from training_worker.reward.efficiency import budget
from training_worker.reward.prove_reward import COMPONENTS

LEVELS = 3
SMALL = 1e-9
LEVEL_WORDS = (
    "not one of the candidate tools",
    "arguments are missing or of the wrong type",
    "refused by the server",
    "succeeded",
)


@dataclass(frozen=True)
class Entry:
    """The effect of one call or missed step on one component: points earned, points lost, and why."""

    component: str
    earned: float
    lost: float
    why: str

    @property
    def adds(self) -> float:
        """Return the points added to the total.

        Efficiency is a penalty, so its lost points are subtracted; in other components lost points were never part of
        the total.
        """
        return self.earned - self.lost if self.component == "efficiency" else self.earned


@dataclass(frozen=True)
class Line:
    """A ledger line: a call (`call` counts from 1) or a missed step, with one entry or None per component."""

    call: int | None
    step: int | None
    title: str
    entries: tuple[Entry | None, ...]


@dataclass(frozen=True)
class Ledger:
    lines: tuple[Line, ...]
    totals: tuple[tuple[str, float, float], ...]  # component, points, maximum

    @property
    def reasons(self) -> list[tuple[Line, Entry]]:
        """Return the entries that lost points, largest loss first."""
        found = [(line, entry) for line in self.lines for entry in line.entries if entry and entry.lost > SMALL]
        return sorted(found, key=lambda each: -each[1].lost)


def ledger(rollout: Rollout, example: Example | None, config: RewardConfig = PAPER) -> Ledger | None:
    """Return the ledger of the components with a nonzero weight.

    None where there is nothing to account for: no reward, a reward that is not a sum over calls, or an abstention
    example, whose reward is a single number.
    """
    reward = rollout.reward
    if reward is None or reward.abstention or reward.form != "paper" or example is None:
        return None
    account = Account(rollout, reward, example, config)
    lines = [*map(account.call, reward.evidence), *map(account.build_missed_line, reward.missed_steps)]
    counted = [at for at, name in enumerate(COMPONENTS) if account.weights[name]]
    return Ledger(
        tuple(replace(line, entries=tuple(line.entries[at] for at in counted)) for line in lines),
        tuple(account.total(COMPONENTS[at]) for at in counted),
    )


class Account:
    """The per-call shares of one rollout's reward."""

    def __init__(self, rollout: Rollout, reward: Reward, example: Example, config: RewardConfig):
        self.rollout, self.reward, self.example, self.config = rollout, reward, example, config
        self.weights = {name: float(getattr(config, name)) for name in COMPONENTS}
        self.calls, self.steps = len(rollout.calls), len(example.steps)
        self.pairs = sum(evidence.step is not None for evidence in reward.evidence)
        self.last = {e.step: e.call for e in reward.evidence if e.step is not None}
        wanted = sum(len(step.calls) for step in example.steps)
        self.budget = budget(wanted, config.beta)

    def total(self, component: str) -> tuple[str, float, float]:
        weight = self.weights[component]
        return component, weight * getattr(self.reward, component), 0.0 if component == "efficiency" else weight

    def call(self, evidence: Evidence) -> Line:
        made = self.rollout.calls[evidence.call]
        entries = (
            self.validity(evidence),
            self.coverage(evidence),
            self.efficiency(evidence),
            self.build_name_entry(evidence),
            self.arguments(evidence),
        )
        return Line(evidence.call + 1, step_number(evidence.step), made.call.name or "(no name)", entries)

    def build_missed_line(self, step: int) -> Line:
        names = ", ".join(call.name for call in self.example.steps[step].calls)
        entry = self.entry("coverage", 0.0, 1 / self.steps, "not every call of this step was made")
        return Line(None, step + 1, names, (None, entry, None, None, None))

    def validity(self, evidence: Evidence) -> Entry:
        got = evidence.level / LEVELS / self.calls
        return self.entry("validity", got, 1 / self.calls - got, LEVEL_WORDS[evidence.level])

    def coverage(self, evidence: Evidence) -> Entry | None:
        step = evidence.step
        if step is None or step in self.reward.missed_steps or self.last[step] != evidence.call:
            return None
        share = 1 / self.steps
        if evidence.in_order is None:
            return self.entry("coverage", share, 0.0, f"step {step + 1} done; its dependencies are unknown")
        if evidence.in_order:
            return self.entry("coverage", share, 0.0, f"step {step + 1} done after its dependencies")
        return self.entry("coverage", 0.0, share, f"step {step + 1} done before or without one of its dependencies")

    def efficiency(self, evidence: Evidence) -> Entry | None:
        if evidence.call < self.budget:
            return None
        why = f"beyond the budget of {self.budget} calls"
        return self.entry("efficiency", 0.0, self.config.alpha / self.budget, why)

    def build_name_entry(self, evidence: Evidence) -> Entry:
        share = 1 / self.calls
        if evidence.named:
            return self.entry("name", share, 0.0, "the ground truth uses this tool")
        return self.entry("name", 0.0, share, "the ground truth does not use this tool")

    def arguments(self, evidence: Evidence) -> Entry | None:
        if evidence.arguments is None:
            return None
        got = evidence.arguments / self.pairs
        wrong = ", ".join(evidence.wrong_arguments)
        why = f"not the ground truth's value: {wrong}" if wrong else "all values match the ground truth"
        return self.entry("arguments", got, 1 / self.pairs - got, why)

    def entry(self, component: str, earned: float, lost: float, why: str) -> Entry:
        weight = self.weights[component]
        return Entry(component, weight * earned, weight * lost, why)


def step_number(step: int | None) -> int | None:
    return None if step is None else step + 1
