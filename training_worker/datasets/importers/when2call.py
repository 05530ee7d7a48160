"""The When2Call importer (nvidia/When2Call): questions that need no call, because no tool fits or a value is missing.

The files differ: rows of the test files have `question`, `correct_answer` and `answers` (a benchmark, so they are
imported as held-out), rows of train_pref have `messages` and `chosen_response`, and rows of train_sft have `messages`
with the reply. Rows that require a call are skipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel

from .conversation import ABSTAINS, CALL_DUE, BadRow, Chat, ChatMessage, Conversation, LeftOut, tools_of, validate_row

CALLS = "<TOOLCALL>"


class Question(BaseModel):
    """A row of the test files."""

    question: str
    correct_answer: Literal["direct", "tool_call", "request_for_info", "cannot_answer"]
    answers: dict[str, str | None] = {}
    tools: Any


class Training(BaseModel):
    """A row of the training files."""

    messages: list[ChatMessage]
    chosen_response: ChatMessage | None = None
    tools: Any


def convert(row: Mapping[str, Any]) -> Conversation:
    """Convert a row to a conversation. Raises BadRow, LeftOut."""
    if "correct_answer" in row:
        return of_question(validate_row(Question, row))
    found = validate_row(Training, row)
    messages = [*found.messages, *([found.chosen_response] if found.chosen_response else [])]
    if messages and CALLS in messages[-1].text:
        raise LeftOut(CALL_DUE)
    if not messages or messages[-1].role != "assistant":
        raise BadRow("there is no assistant message")
    if any(message.tool_calls or message.role == "tool" for message in messages):
        raise LeftOut(CALL_DUE)
    return Chat().take(messages).conversation(tools_of(found.tools))


def of_question(found: Question) -> Conversation:
    if found.correct_answer == "tool_call":
        raise LeftOut(CALL_DUE)
    answer = found.answers.get(found.correct_answer) or ABSTAINS
    tools = tools_of(found.tools)
    return Conversation(turns=(found.question,), answers=(answer,), tools=tools, split="held_out")
