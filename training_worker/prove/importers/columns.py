"""Rows of any table as conversations: which column is what, guessed by its name and said by a person."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..trajectory import Step, ToolCall
from .conversation import ABSTAINS, BadRow, Chat, ChatMessage, Conversation, loaded, shaped, tools_of
from .rows import Row

FIELDS = {
    "messages": "The whole conversation, in the OpenAI chat format; then only tools are needed beside it",
    "query": "What the user says",
    "tools": "The tools, as JSON schemas",
    "calls": "The calls that are right, as JSON: name and arguments of each",
    "answer": "What the assistant says at the end",
    "system": "The system text",
}
NAMES = {
    "messages": ("messages", "conversations", "conversation", "chat"),
    "query": ("query", "question", "prompt", "instruction", "input", "user", "text"),
    "tools": ("tools", "functions", "function", "available_tools", "schemas"),
    "calls": ("calls", "tool_calls", "answers", "ground_truth", "function_calls", "expected"),
    "answer": ("answer", "response", "output", "completion", "assistant"),
    "system": ("system", "system_prompt"),
}
Mapped = Mapping[str, str]  # field -> column


def guessed(columns: Sequence[str]) -> dict[str, str]:
    """Of each field the column that it is named like; each column once."""
    known = {column.strip().lower(): column for column in columns}
    found: dict[str, str] = {}
    for field, names in NAMES.items():
        column = next((known[name] for name in names if name in known and known[name] not in found.values()), None)
        if column is not None:
            found[field] = column
    return found


def convert(row: Row, mapped: Mapped) -> Conversation:
    """The conversation of a row. Raises BadRow."""
    tools = tools_of(value(row, mapped, "tools") or [])
    if "messages" in mapped:
        given = loaded(value(row, mapped, "messages"), mapped["messages"])
        if not isinstance(given, list) or not given:
            raise BadRow(f"{mapped['messages']}: no list of messages")
        found = Chat().take(shaped(ChatMessage, message) for message in given).conversation(tools)
        if not any(found.answers) and not found.steps:
            raise BadRow("there is no reply of the assistant")
        return found
    query = value(row, mapped, "query")
    if not isinstance(query, str) or not query.strip():
        raise BadRow(f"{mapped.get('query', 'query')}: the user says nothing")
    calls = calls_of(value(row, mapped, "calls"), mapped.get("calls", "calls"))
    answer = value(row, mapped, "answer") or ("" if calls else ABSTAINS)
    return Conversation(
        turns=(query,),
        answers=(str(answer),),
        tools=tools,
        steps=(Step(calls, 0),) if calls else (),
        system=str(value(row, mapped, "system") or ""),
    )


def value(row: Row, mapped: Mapped, field: str) -> Any:
    return row.get(mapped[field]) if field in mapped else None


def calls_of(given: Any, column: str) -> tuple[ToolCall, ...]:
    """Calls as a list or its JSON text, one call alone, or each in "function". Raises BadRow."""
    found = loaded(given, column) if given else []
    calls = [found] if isinstance(found, dict) else found
    if not isinstance(calls, list):
        raise BadRow(f"{column}: no list of calls")
    return tuple(call_of(one, column) for one in calls)


def call_of(given: Any, column: str) -> ToolCall:
    one = given.get("function", given) if isinstance(given, dict) else given
    name = one.get("name") if isinstance(one, dict) else None
    if not isinstance(name, str):
        raise BadRow(f"{column}: a call without a name")
    arguments = loaded(one.get("arguments", one.get("parameters")) or {}, f"the arguments of {name[:60]}")
    if not isinstance(arguments, dict):
        raise BadRow(f"the arguments of {name[:60]} are no object")
    return ToolCall(name, arguments)


def said(calls: Sequence[Step]) -> str:
    """The calls of steps in a line, for a preview."""
    return ", ".join(f"{call.name}({json.dumps(call.arguments)})" for step in calls for call in step.calls)
