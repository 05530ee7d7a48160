"""What became of one call of a rollout, in one word; and of a tool that was needed and never called."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final, Literal, get_args

from .trajectory import Evidence, ExecutedCall, Rollout

Outcome = Literal["succeeded", "arguments", "order", "schema", "state", "untried"]
OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
OF_CALLS: Final = OUTCOMES[:-1]
FORM, RAN = 2, 3  # levels of validity: the form is right; the server did it
BAD_FORM = "invalid_arguments"  # the server's refusal of arguments that its schema does not allow

MEANING: Final[dict[Outcome, str]] = {
    "succeeded": "the server did it, and neither its values nor its place were wrong",
    "arguments": "the server did it for a step of the ground truth, with another value than the step's",
    "order": "the server did it for a step of the ground truth, before or without a step that this one needs",
    "schema": "no call of an offered tool, or its arguments are not those of the tool's schema",
    "state": "the form was right, and the server refused it for the state of its world",
    "untried": "the ground truth needs the tool, and the rollout never called it",
}


def outcomes(rollout: Rollout) -> tuple[Outcome, ...]:
    """One outcome per call, never `untried`; none at all of a rollout without a reward.

    Such a rollout failed for no fault of the policy, so its calls say nothing about the policy.
    """
    if rollout.reward is None:
        return ()
    known = {one.call: one for one in rollout.reward.evidence}
    return tuple(outcome(made, known.get(at)) for at, made in enumerate(rollout.calls))


def outcome(made: ExecutedCall, evidence: Evidence | None) -> Outcome:
    """What failed first: the form, then the server, then the order, then the values."""
    if made.level < FORM:
        return "schema"
    if made.level < RAN:
        return "schema" if refused_with(made.observation) == BAD_FORM else "state"
    if evidence is None or evidence.step is None:
        return "succeeded"
    if evidence.in_order is False:
        return "order"
    return "arguments" if evidence.wrong_arguments else "succeeded"


def refused_with(observation: str) -> str:
    """The code of a refusal; "" where the text is none."""
    try:
        told = json.loads(observation)
    except (ValueError, RecursionError):
        return ""
    return str(told.get("error", "")) if isinstance(told, dict) else ""


def untried(needed: Iterable[str], called: Sequence[str]) -> tuple[str, ...]:
    """The tools of the ground truth that a rollout never called, each once, in the order needed."""
    return tuple(dict.fromkeys(name for name in needed if name not in called))
