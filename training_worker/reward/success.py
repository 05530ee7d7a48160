"""Success: a rollout did all of the ground truth and nothing else, independent of the component weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, product

from ..core.trajectory import Example, ExecutedCall, Reward, Step, ToolCall
from ..dataflow.values import find_differing_keys
from .prove_reward import score

MOST = {"validity": 1.0, "coverage": 1.0, "efficiency": 0.0, "name": 1.0, "arguments": 1.0}
EQUAL = 1e-6  # tolerance for rounding
MOST_TRUTHS = 64  # combinations of alternatives that are tried for a rollout


def is_success(reward: Reward) -> bool:
    """Return whether every component is at its maximum, also with alternatives, or whether it abstained correctly."""
    return reward.accepted or is_success_from_summary(
        reward.total, reward.abstention, {name: getattr(reward, name) for name in MOST}
    )


def is_success_from_summary(total: float | None, abstention: bool, components: Mapping[str, float | None]) -> bool:
    """Return success from a rollout's summary; total and components are None after a failure outside the policy."""
    if abstention:
        return total is not None and total >= 1 - EQUAL
    return all((components.get(name) or 0.0) >= most - EQUAL for name, most in MOST.items()) and total is not None


def is_accepted(example: Example, calls: Sequence[ExecutedCall]) -> bool:
    """Return whether calls are a success only with alternatives in place of read-only calls of the ground truth."""
    truths = islice(swap_alternatives(example, calls), MOST_TRUTHS)
    made = [is_success(score(steps, example.edges, calls)) for steps in truths]
    return not made[0] and any(made)


def swap_alternatives(example: Example, calls: Sequence[ExecutedCall]) -> Iterator[tuple[Step, ...]]:
    """Yield the ground truth, then every combination in which alternatives replace read-only calls that were not made.

    An alternative that equals another call of its step is that call: one read-only call may replace two.
    """

    def options(step: int, at: int, call: ToolCall) -> list[ToolCall]:
        if any(one.call == call for one in calls):
            return [call]
        others = [one.other for one in example.alternatives if (one.step, one.call) == (step, at)]
        return [call, *(one for one in others if is_made(one, calls))]

    for chosen in product(
        *(options(number, at, call) for number, step in enumerate(example.steps) for at, call in enumerate(step.calls))
    ):
        rest = iter(chosen)
        taken = [tuple(islice(rest, len(step.calls))) for step in example.steps]
        yield tuple(
            step if made == step.calls else replace(step, calls=drop_repeated(made))
            for step, made in zip(example.steps, taken, strict=True)
        )


def drop_repeated(calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    return tuple(one for at, one in enumerate(calls) if one not in calls[:at])


def is_made(call: ToolCall, calls: Sequence[ExecutedCall]) -> bool:
    """Return whether a call, possibly with further arguments, is among the calls of a rollout."""
    arguments = call.arguments or {}
    return any(
        one.call.name == call.name and not find_differing_keys(arguments, one.call.arguments or {}) for one in calls
    )
