"""Atomic validity: how right each call is in itself, from its name over its parameters to its values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum

from ..trajectory import ExecutedCall, Json, Step, ToolCall
from .validity import LEVELS
from .values import differing

NAME, STRUCTURE, VALUES = 0.33, 0.33, 0.34


def atomic(steps: Sequence[Step], calls: Sequence[ExecutedCall]) -> float:
    """The mean over the model's calls of (ast + sem) / 2 (arXiv 2603.24709, atomic validity); 0 without calls.

    sem = 1 if the execution was expected to succeed and did: every ground-truth call does, so it is expected of the
    tools that the ground truth uses, and of no other. A tool may occur there several times: a call is held against the
    one that makes most of it.
    """
    due: dict[str, list[ToolCall]] = {}
    for step in steps:
        for truth in step.calls:
            due.setdefault(truth.name, []).append(truth)
    return fsum(of_one(made, due.get(made.call.name, ())) for made in calls) / len(calls) if calls else 0.0


def of_one(made: ExecutedCall, due: Iterable[ToolCall]) -> float:
    """(ast + sem) / 2 of one call; 0 where its name is wrong or it could not be read."""
    given = made.call.arguments
    best = max((ast(truth.arguments or {}, given) for truth in due), default=0.0) if given is not None else 0.0
    return (best + (made.level == LEVELS)) / 2 if best else 0.0


def ast(expected: dict[str, Json], given: dict[str, Json]) -> float:
    """0.33 for the name, 0.33 (share of the ground truth's parameters given x type accuracy on them), and 0.34 when
    the arguments are the ground truth's, each value right and none besides.

    Where the ground truth has no parameter, 0.33 for giving none.
    """
    common = expected.keys() & given.keys()
    if expected:
        typed = sum(kind(expected[key]) == kind(given[key]) for key in common)
        structure = (len(common) / len(expected)) * (typed / len(common) if common else 0.0)
    else:
        structure = float(not given)
    right = expected.keys() == given.keys() and not differing(expected, given)
    return NAME + STRUCTURE * structure + VALUES * right


def kind(value: Json) -> str:
    """JSON's type of a value: 2 and 2.0 are both numbers, true is none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number"
    return type(value).__name__
