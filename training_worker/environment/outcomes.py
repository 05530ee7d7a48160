"""Outcomes of tool calls: what happened to each call of a rollout, and which required tools were never called."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final, Literal, get_args

from ..core.trajectory import Evidence, ExecutedCall, Rollout

Outcome = Literal["succeeded", "arguments", "order", "schema", "state", "untried"]
OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
OF_CALLS: Final = OUTCOMES[:-1]
FORM, RAN = 2, 3  # validity levels: valid arguments; successful execution
BAD_FORM = "invalid_arguments"  # the server's error code for arguments that its schema does not allow

MEANING: Final[dict[Outcome, str]] = {
    "succeeded": "executed successfully, without wrong argument values or order",
    "arguments": "executed successfully for a ground-truth step, but with a different argument value",
    "order": "executed successfully for a ground-truth step, but before or without a step it depends on",
    "schema": "a malformed call, a tool that was not offered, or arguments that do not match its schema",
    "state": "a valid call that the server rejected because of its current state",
    "untried": "the ground truth needs the tool, but the rollout never called it",
}


def outcomes(rollout: Rollout) -> tuple[Outcome, ...]:
    """Return one outcome per call, never `untried`; none for a rollout without a reward.

    Such a rollout failed through no fault of the policy, so its calls say nothing about the policy.
    """
    if rollout.reward is None:
        return ()
    known = {one.call: one for one in rollout.reward.evidence}
    return tuple(outcome(made, known.get(at)) for at, made in enumerate(rollout.calls))


def outcome(made: ExecutedCall, evidence: Evidence | None) -> Outcome:
    """Return the first fault of a call: schema, then server, then order, then argument values."""
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
    """Return the error code of an observation; "" if it is not an error."""
    try:
        data = json.loads(observation)
    except (ValueError, RecursionError):
        return ""
    return str(data.get("error", "")) if isinstance(data, dict) else ""


def list_uncalled_tools(needed: Iterable[str], called: Sequence[str]) -> tuple[str, ...]:
    """Return the tools of the ground truth that a rollout never called, each once, in ground-truth order."""
    return tuple(dict.fromkeys(name for name in needed if name not in called))
