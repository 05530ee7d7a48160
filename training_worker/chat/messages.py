"""Conversations in the OpenAI chat format: messages with tool calls, as supervised trainers take them."""

from __future__ import annotations

import json
from typing import Any

from mcp_servers.catalogue import TOOLS

from ..core.trajectory import Example, Message, Step
from .schemas import tool_schema

ARRIVED = "You can now also use: "


def user_message(example: Example, turn: int) -> Message:
    """Return the message of a user turn: its text, and the schemas of the tools that arrive in it and still exist."""
    schemas = [tool_schema(name, example.enums_stripped) for name in example.new_tools(turn) if name in TOOLS]
    lines = [f"{ARRIVED}{json.dumps(schema, ensure_ascii=False)}" for schema in schemas]
    return Message("user", "\n\n".join([example.turns[turn], *lines]))


def chat_messages(example: Example) -> list[dict[str, Any]]:
    """Return the demonstration of an example with its system text and user turns; ids of calls count from 0.

    Recorded failures are left out, because they are not part of the ground truth.
    """
    messages: list[dict[str, Any]] = [{"role": "system", "content": example.system}] if example.system else []
    made = 0
    for turn in range(len(example.turns)):
        messages.append({"role": "user", "content": user_message(example, turn).content})
        for step in example.steps:
            if step.turn == turn:
                messages += step_messages(step, made)
                made += len(step.calls)
        messages += [{"role": "assistant", "content": text} for text in example.answers[turn : turn + 1] if text]
    return messages


def step_messages(step: Step, made: int) -> list[dict[str, Any]]:
    """Return the assistant's calls of a step with their observations; `made` counts the calls before."""
    ids = [f"call_{made + number}" for number in range(len(step.calls))]
    calls = [
        {"id": id, "type": "function", "function": {"name": call.name, "arguments": call.arguments or {}}}
        for id, call in zip(ids, step.calls, strict=True)
    ]
    answers = [
        {"role": "tool", "tool_call_id": id, "content": text}
        for id, text in zip(ids, step.observations, strict=False)  # an imported step may lack observations
    ]
    return [{"role": "assistant", "content": "", "tool_calls": calls}, *answers]
