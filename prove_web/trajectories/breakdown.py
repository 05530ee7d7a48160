"""Breakdown of a reward under its configuration: each part with its value, weight and contribution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from training_worker.core.trajectory import Reward
from training_worker.reward import PAPER, RewardConfig
from training_worker.reward.prove_reward import COMPONENTS

SMALL = 1e-9
TITLES = {
    "validity": ("Validity", "calls that parse, exist, fit the schema and succeed"),
    "coverage": ("Coverage", "ground-truth steps reached, in the order of their dependencies"),
    "efficiency": ("Efficiency", "no more calls than the ground truth needs"),
    "name": ("Name", "the right tools by name"),
    "arguments": ("Arguments", "argument values equal to the ground truth's"),
    "atomic": ("Atomic", "each call by its name, its arguments and whether it succeeded"),
    "orchestration": ("Orchestration", "steps whose tool was called after all steps they depend on"),
    "trace": ("Trace", "every call of the ground truth was made, with its values"),
    "state": ("State", "servers that end in the ground truth's state"),
    "surplus": ("Surplus calls", "0.05 for each call beyond the ground truth's, 0.5 at most"),
    "unparseable": ("Unparseable calls", "0.05 for each call that could not be read, 0.5 at most"),
    "final_state": ("Final state", "every server ends in the ground truth's state"),
    "invented": ("Invented values", "argument values that neither the user nor a tool gave"),
    "repeats": ("Repeats", "calls that were repeated without effect"),
    "floor": ("Floor", "raises the total to 0, the minimum of this form"),
}


@dataclass(frozen=True)
class Part:
    """One part of a reward: its value, its weight in the total (below 0 for a penalty) and its contribution `adds`."""

    name: str
    value: float
    weight: float
    order_unknown: bool = False

    @property
    def adds(self) -> float:
        return self.value * self.weight

    @property
    def title(self) -> str:
        return TITLES[self.name][0]

    @property
    def about(self) -> str:
        if self.order_unknown and self.name in ("coverage", "orchestration"):
            return "ground-truth steps reached; their order is unknown and does not count"
        return TITLES[self.name][1]

    @property
    def costs(self) -> bool:
        return self.weight < 0


def parts_of(reward: Reward, config: RewardConfig = PAPER) -> tuple[Part, ...]:
    """Return the parts that add up to the total; none for an abstention, whose reward is a single number.

    `config` is the reward configuration at the rollout's step: see RewardConfig.interpolate_tau.
    """
    return () if reward.abstention else (*of_form(reward, config), *on_top(reward, config))


def components(reward: Reward, config: RewardConfig = PAPER) -> tuple[Part, ...]:
    """Return the paper's five components, which are measured under every form, with their weights in `config`."""
    return tuple(Part(name, getattr(reward, name), getattr(config, name), reward.order_unknown) for name in COMPONENTS)


def of_form(reward: Reward, config: RewardConfig) -> tuple[Part, ...]:
    terms = reward.terms
    match reward.form:
        case "graduated":
            atomic = Part("atomic", terms["atomic"], 0.5)
            return (atomic, Part("orchestration", terms["orchestration"], 0.5, reward.order_unknown))
        case "trace_state":
            found = (
                Part("trace", terms["trace"], config.tau),
                Part("state", terms["state"], 1 - config.tau),
                Part("surplus", terms["surplus"], -1.0),
                Part("unparseable", terms["unparseable"], -1.0),
            )
            lift = -sum(part.adds for part in found)
            return (*found, Part("floor", lift, 1.0)) if lift > SMALL else found
        case "final_state":
            return (Part("final_state", terms["final_state"], 1.0 + config.final_state),)
    return tuple(part for part in components(reward, config) if part.weight)


def on_top(reward: Reward, config: RewardConfig) -> Iterator[Part]:
    """Yield the optional terms with which the rollout was scored."""
    terms = reward.terms
    if config.final_state and reward.form != "final_state" and "final_state" in terms:
        yield Part("final_state", terms["final_state"], config.final_state)
    if config.provenance and "provenance" in terms:
        yield Part("invented", 1 - terms["provenance"], -config.provenance)
    if config.repeats and "repeats" in terms:
        yield Part("repeats", terms["repeats"], -config.repeats)
