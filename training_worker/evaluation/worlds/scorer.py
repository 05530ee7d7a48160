"""Verdicts on rollouts: success as in training with the ground truth's final state, or the kind of failure.

Success is `is_success` (reward/success.py): all of the ground truth was done, perhaps with alternative look-ups, and
nothing else. It does not detect a write made twice within the budget of calls, so the world must also end in the ground
truth's final state.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from mcp_servers.catalogue import TOOLS

from ...core.trajectory import Example, ExecutedCall, Reward, Rollout
from ...reward import reward_of
from ...reward.final_state import final_state
from ...reward.success import EQUAL, is_success

Counts = Callable[[ExecutedCall], bool]
Verdict = tuple[str, str]  # the kind of failure and details; two empty texts for a success
SUCCESS: Verdict = ("", "")
ENDS = {"assistant_turns": "step_limit", "calls": "call_limit"}


def judge_rollout(example: Example, rollout: Rollout, counts: Counts = lambda call: True) -> Verdict:
    """Return the verdict on a scored rollout, without the calls that do not count."""
    calls = tuple(call for call in rollout.calls if counts(call))
    own = replace(rollout, calls=calls)
    reward = reward_of(example, own) if calls != rollout.calls else rollout.reward
    assert reward is not None
    if rollout.end in ENDS:
        return ENDS[rollout.end], f"the conversation was not over after {len(rollout.calls)} calls"
    if example.abstains:
        return SUCCESS if is_success(reward) else called_anyway(calls)
    if is_success(reward):
        return SUCCESS if final_state(example, own) == 1.0 else ("other_state", "the final state of the world differs")
    return shortfall(example, calls, reward)


def called_anyway(calls: tuple[ExecutedCall, ...]) -> Verdict:
    return "called_anyway", f"{format_call(calls[0])}, where nothing was to be called"


def shortfall(example: Example, calls: tuple[ExecutedCall, ...], reward: Reward) -> Verdict:
    """Return the first failure: missing steps come before wrong ones, and those before superfluous calls."""
    if not calls:
        return "called_nothing", f"{len(example.steps)} steps were due"
    if any(call.call.arguments is None for call in calls):
        return "malformed_call", "a call is not valid JSON with a name and an arguments object"
    if reward.missed_steps:
        missed = example.steps[reward.missed_steps[0]].calls[0]
        return "missed_step", f"{missed.name} was never called with all of its arguments"
    if reward.coverage < 1 - EQUAL:
        return "wrong_order", "a step came before one that it depends on"
    if reward.arguments < 1 - EQUAL:
        wrong = next(one for one in reward.evidence if one.wrong_arguments)
        return "wrong_argument", f"{', '.join(wrong.wrong_arguments)} of {format_call(calls[wrong.call])}"
    if reward.name < 1 - EQUAL:
        extra = next(one for one in reward.evidence if not one.named)
        return "wrong_tool", f"{format_call(calls[extra.call])}, which is not part of the task"
    if reward.validity < 1 - EQUAL:
        refused = next(call for call in calls if call.level < 3)
        return "refused_call", f"{format_call(refused)}: {refused.observation}"[:500]
    return "too_many_calls", f"{len(calls)} calls, and {sum(len(step.calls) for step in example.steps)} were due"


def format_call(call: ExecutedCall) -> str:
    """Return a short text for a call."""
    arguments = ", ".join(f"{name}={json.dumps(value)}" for name, value in (call.call.arguments or {}).items())
    return f"{call.call.name[:100]}({arguments})"[:300]


def writes(call: ExecutedCall) -> bool:
    """Return whether a call was to a tool that writes, even if it failed."""
    return call.call.name in TOOLS and TOOLS[call.call.name][1].writes
