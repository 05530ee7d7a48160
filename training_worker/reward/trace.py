"""The trace score S_trace: whether every ground-truth call was made, in any order and among any other calls."""

from __future__ import annotations

from collections.abc import Container, Sequence
from fractions import Fraction

from ..core.trajectory import ExecutedCall, Json, Step, ToolCall
from ..dataflow.values import equal, finite

TOLERANCE = 1e-6


def trace(steps: Sequence[Step], calls: Sequence[ExecutedCall], dont_care: Container[str] = ()) -> float:
    """Return S_trace = 1 if each ground-truth call has a distinct model call of its name with equal arguments except
    don't-care ones, in any order, else 0 (EnvFactory).

    `dont_care` has ids: an argument that contains one of them is don't-care. Calls that were never run match nothing.
    """
    run = [made.call for made in calls if made.level]
    due = [call for step in steps for call in step.calls]
    return float(
        assign(
            [[place for place, made in enumerate(run) if matches_ground_truth(made, truth, dont_care)] for truth in due]
        )
    )


def matches_ground_truth(made: ToolCall, truth: ToolCall, dont_care: Container[str]) -> bool:
    """Return whether a call has the ground truth's name and all arguments that matter, possibly with others."""
    given = made.arguments
    return (
        made.name == truth.name
        and given is not None
        and all(
            key in given and (is_nearly_equal(value, given[key]) or contains_id(value, dont_care))
            for key, value in (truth.arguments or {}).items()
        )
    )


def is_nearly_equal(a: Json, b: Json) -> bool:
    """Return whether two values are equal as JSON, with numbers within 1e-6."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(is_nearly_equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(is_nearly_equal(value, b[key]) for key, value in a.items())
    return equal(a, b) or (is_finite(a) and is_finite(b) and abs(Fraction(a) - Fraction(b)) <= TOLERANCE)


def is_finite(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and finite(value)


def contains_id(value: Json, ids: Container[str]) -> bool:
    """Return whether the value is one of these ids or contains one at any depth."""
    if isinstance(value, list | dict):
        return any(contains_id(part, ids) for part in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and value in ids


def assign(choices: Sequence[Sequence[int]]) -> bool:
    """Return whether everyone can get a distinct one of their choices, by bipartite matching with augmenting paths."""
    owner: dict[int, int] = {}

    def settle(one: int, tried: set[int]) -> bool:
        for choice in choices[one]:
            if choice not in tried:
                tried.add(choice)
                if choice not in owner or settle(owner[choice], tried):
                    owner[choice] = one
                    return True
        return False

    return all(settle(one, set()) for one in range(len(choices)))
