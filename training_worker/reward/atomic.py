"""The atomic score of the graduated reward: the correctness of each call's name, parameters and values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum

from ..core.trajectory import ExecutedCall, Json, Step, ToolCall
from ..dataflow.values import find_differing_keys
from .validity import LEVELS

NAME, STRUCTURE, VALUES = 0.33, 0.33, 0.34


def atomic(steps: Sequence[Step], calls: Sequence[ExecutedCall]) -> float:
    """Return the mean over the model's calls of (ast + sem) / 2 (arXiv 2603.24709, atomic validity); 0 without calls.

    sem = 1 if the execution was expected to succeed and did: every ground-truth call succeeds, so success is expected
    of the tools that the ground truth uses and of no others. If a tool occurs several times in the ground truth, a call
    is compared with the occurrence that gives the highest score.
    """
    due: dict[str, list[ToolCall]] = {}
    for step in steps:
        for truth in step.calls:
            due.setdefault(truth.name, []).append(truth)
    return fsum(of_one(made, due.get(made.call.name, ())) for made in calls) / len(calls) if calls else 0.0


def of_one(made: ExecutedCall, due: Iterable[ToolCall]) -> float:
    """Return (ast + sem) / 2 of one call; 0 if its name is wrong or it could not be parsed."""
    given = made.call.arguments
    best = max((ast(truth.arguments or {}, given) for truth in due), default=0.0) if given is not None else 0.0
    return (best + (made.level == LEVELS)) / 2 if best else 0.0


def ast(expected: dict[str, Json], given: dict[str, Json]) -> float:
    """Return 0.33 for the name + 0.33 (share of the ground truth's parameters given x type accuracy on them) + 0.34 if
    the arguments equal the ground truth's, without further arguments.

    If the ground truth has no parameters, the second term is 0.33 for giving none.
    """
    common = expected.keys() & given.keys()
    if expected:
        typed = sum(kind(expected[key]) == kind(given[key]) for key in common)
        structure = (len(common) / len(expected)) * (typed / len(common) if common else 0.0)
    else:
        structure = float(not given)
    right = expected.keys() == given.keys() and not find_differing_keys(expected, given)
    return NAME + STRUCTURE * structure + VALUES * right


def kind(value: Json) -> str:
    """Return the JSON type of a value: 2 and 2.0 are numbers, true is not."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number"
    return type(value).__name__
