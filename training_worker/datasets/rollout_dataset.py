"""Rollout datasets: a policy's rollout with its example and its origin, as datasets store and exchange it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..chat.messages import chat_messages
from ..chat.protocol import CALL
from ..core.trajectory import Example, ExecutedCall, Json, Rollout

ROLLOUTS = "rollouts.jsonl"  # next to the example files of a dataset with rollouts


@dataclass(frozen=True, kw_only=True)
class DatasetRollout:
    """One line of a rollout dataset. `id` is unique in it; `origin` has the source: run, step, rollout."""

    id: str
    example: Example
    rollout: Rollout
    origin: Mapping[str, Json] = field(default_factory=dict)


def messages_of(example: Example, rollout: Rollout | None = None) -> list[dict[str, Any]]:
    """Return a demonstration or a rollout in the OpenAI chat format.

    A rollout's turn has tool calls if all its calls could be parsed; otherwise it keeps its original text.
    """
    if rollout is None:
        return chat_messages(example)
    messages: list[dict[str, Any]] = []
    turn, made, waiting = -1, 0, list[str]()
    for one in rollout.transcript:
        if one.role == "assistant":
            turn += 1
            calls = [call for call in rollout.calls if call.turn == turn]
            waiting = [f"call_{made + place}" for place in range(len(calls))]
            made += len(calls)
            messages.append(assistant(one.content, calls, waiting))
        elif one.role == "tool":
            id = waiting.pop(0) if waiting else f"call_{made}"
            messages.append({"role": "tool", "tool_call_id": id, "content": one.content})
        else:
            messages.append({"role": one.role, "content": one.content})
    return messages


def assistant(text: str, calls: list[ExecutedCall], ids: list[str]) -> dict[str, Any]:
    if not calls or any(made.call.arguments is None for made in calls):
        return {"role": "assistant", "content": text}
    found = CALL.search(text)
    said = text[: found.start()].strip() if found else ""
    return {
        "role": "assistant",
        "content": said,
        "tool_calls": [
            {"id": id, "type": "function", "function": {"name": made.call.name, "arguments": made.call.arguments}}
            for id, made in zip(ids, calls, strict=True)
        ],
    }
