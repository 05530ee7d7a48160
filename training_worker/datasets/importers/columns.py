"""The importer for tables with any columns: a column mapping, guessed from column names and set by the user."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...core.trajectory import Step, ToolCall
from .conversation import ABSTAINS, BadRow, Chat, ChatMessage, Conversation, parse_json_value, tools_of, validate_row
from .rows import Row

FIELDS = {
    "messages": "The full conversation in the OpenAI chat format; apart from it, only tools are needed",
    "query": "The user message",
    "tools": "The tools as JSON schemas",
    "calls": "The ground-truth calls as JSON: name and arguments of each",
    "answer": "The assistant's final answer",
    "system": "The system prompt",
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


def guess_mapping(columns: Sequence[str]) -> dict[str, str]:
    """Return the column for each field, matched by name; each column is used once."""
    known = {column.strip().lower(): column for column in columns}
    found: dict[str, str] = {}
    for field, names in NAMES.items():
        column = next((known[name] for name in names if name in known and known[name] not in found.values()), None)
        if column is not None:
            found[field] = column
    return found


def convert(row: Row, mapped: Mapped) -> Conversation:
    """Convert a row to a conversation. Raises BadRow."""
    tools = tools_of(value(row, mapped, "tools") or [])
    if "messages" in mapped:
        given = parse_json_value(value(row, mapped, "messages"), mapped["messages"])
        if not isinstance(given, list) or not given:
            raise BadRow(f"{mapped['messages']}: not a list of messages")
        found = Chat().take(validate_row(ChatMessage, message) for message in given).conversation(tools)
        if not any(found.answers) and not found.steps:
            raise BadRow("there is no assistant message")
        return found
    query = value(row, mapped, "query")
    if not isinstance(query, str) or not query.strip():
        raise BadRow(f"{mapped.get('query', 'query')}: the user message is empty")
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
    """Parse calls from a list or its JSON text, from a single call, or from {"function": ...}. Raises BadRow."""
    found = parse_json_value(given, column) if given else []
    calls = [found] if isinstance(found, dict) else found
    if not isinstance(calls, list):
        raise BadRow(f"{column}: not a list of calls")
    return tuple(call_of(one, column) for one in calls)


def call_of(given: Any, column: str) -> ToolCall:
    one = given.get("function", given) if isinstance(given, dict) else given
    name = one.get("name") if isinstance(one, dict) else None
    if not isinstance(name, str):
        raise BadRow(f"{column}: a call without a name")
    arguments = parse_json_value(one.get("arguments", one.get("parameters")) or {}, f"the arguments of {name[:60]}")
    if not isinstance(arguments, dict):
        raise BadRow(f"the arguments of {name[:60]} are not an object")
    return ToolCall(name, arguments)


def format_calls(calls: Sequence[Step]) -> str:
    """Return the calls of steps as one line, for a preview."""
    return ", ".join(f"{call.name}({json.dumps(call.arguments)})" for step in calls for call in step.calls)
