"""Scoring of a simulation: tau2's reward as success or a kind of failure, and the conversation as a rollout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...core.trajectory import End, ExecutedCall, Message, Rollout, ToolCall
from ..protocol import NotRun, OutOfRoom
from .conversation import Conversation, Part
from .suite import Task

LIMITS = {"max_steps": "step_limit", "too_many_errors": "too_many_errors"}
KINDS = {
    "DB": "db_state_mismatch",
    "ENV_ASSERTION": "env_assertion",
    "ACTION": "action_mismatch",
    "COMMUNICATE": "communication_missing",
}
MOST_WHY = 500  # letters


def verdict(talk: Conversation, outcome: Mapping[str, Any]) -> tuple[str, str]:
    """Return the kind of failure ("" for none) and tau2's message. Raises NotRun."""
    if isinstance(talk.over, NotRun):
        raise talk.over
    if talk.over:
        return ("context_limit" if isinstance(talk.over, OutOfRoom) else str(talk.over)), str(talk.over)
    if "unscored" in outcome:
        raise NotRun(f"tau2's evaluator failed: {outcome['unscored']}")
    if outcome["ended"] in LIMITS:
        return LIMITS[outcome["ended"]], f"tau2 ended it: {outcome['ended']}"
    reward = outcome["reward"]
    if reward["reward"] > 1 - 1e-6:  # tau2's own criterion of success
        return "", ""
    missed = [basis for basis, value in (reward["reward_breakdown"] or {}).items() if value < 1]
    kind = next((kind for basis, kind in KINDS.items() if basis in missed), "not_rewarded")
    return kind, "; ".join(reasons(reward, missed))[:MOST_WHY]


def reasons(reward: Mapping[str, Any], missed: Sequence[str]) -> Iterator[str]:
    if "DB" in missed:
        yield "the final state differs from the ground truth's"
    if "ENV_ASSERTION" in missed:
        for check in reward["env_assertions"] or []:
            if not check["met"]:
                assertion = check["env_assertion"]
                yield (
                    f"assertion failed: {assertion['func_name']} {assertion['arguments']} "
                    f"is {assertion['assert_value']}"
                )
    if "ACTION" in missed:
        for check in reward["action_checks"] or []:
            if not check["action_match"]:
                yield f"missing action: {check['action']['name']} {check['action']['arguments']}"
    if "COMMUNICATE" in missed:
        for check in reward["communicate_checks"] or []:
            if not check["met"]:
                yield f"missing information: {check['info']}"


def rollout_of(task: Task, talk: Conversation, outcome: Mapping[str, Any]) -> Rollout:
    """Return the conversation from the agent's side, without the user's own tool calls."""
    end: End = "assistant_turns" if outcome.get("ended") in LIMITS else "answered"
    return Rollout(
        example=task.id,
        transcript=tuple(transcript(talk.agent, outcome["messages"])),
        calls=tuple(extract_executed_calls(outcome["messages"])),
        end=end,
        reward=None,
    )


def transcript(agent: Part, messages: Sequence[Mapping[str, Any]]) -> Iterator[Message]:
    if agent.system:
        yield Message("system", agent.system)
    before = sum(one["role"] == "assistant" for one in messages) - len(agent.texts)  # tau2's own greeting
    texts = iter(agent.texts)
    for one in messages:
        if one["role"] == "assistant":
            before -= 1
            yield Message("assistant", one["content"] if before >= 0 else next(texts))
        elif (one["role"] == "user" and not one["calls"]) or one["by"] == "assistant":
            yield Message(one["role"], one["content"] or "")
    if agent.refused is not None:
        yield Message("assistant", agent.refused)


def extract_executed_calls(messages: Sequence[Mapping[str, Any]]) -> Iterator[ExecutedCall]:
    """Yield the agent's calls with their observations; a failed call reached no tool or was refused by it."""
    waiting: list[tuple[int, ToolCall]] = []
    turn = -1
    for one in messages:
        if one["role"] == "assistant":
            turn += 1
            waiting += [(turn, ToolCall(name, arguments)) for name, arguments in one["calls"]]
        elif one["role"] == "tool" and one["by"] == "assistant":
            at, call = waiting.pop(0)
            level = 3 if not one["error"] else 0 if one["content"].endswith("not found.") else 2
            yield ExecutedCall(call, level, one["content"], at)
