"""The BFCL importer: a file of questions with their functions, and a file of possible answers, joined by id.

`ground_truth` has a list of accepted values for each argument; the importer takes the first, and omits optional
arguments (one of their values is ""). The calls of a question are one parallel step. BFCL is a benchmark, so its
conversations are imported as held-out. Its multi-turn tasks, which run on its own classes, have no schemas here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from ...core.trajectory import Step, ToolCall
from .conversation import ABSTAINS, BadRow, Chat, ChatMessage, Conversation, tools_of, validate_row

Answers = Mapping[str, Mapping[str, Any]]  # rows of possible answers, by id


class Question(BaseModel):
    id: str
    question: list[list[ChatMessage]]
    function: Any


class AnswerIdentifier(BaseModel):
    id: str


class Answer(BaseModel):
    ground_truth: list[dict[str, dict[str, list[Any]]]]


def convert(row: Mapping[str, Any], answers: Answers | None = None) -> Conversation:
    """Convert a question to a conversation; without an answers file the right act is to make no call. Raises BadRow."""
    if "function" not in row and "involved_classes" in row:
        raise BadRow("a task on BFCL's own classes has no tool schemas")
    found = validate_row(Question, row)
    functions = found.function if isinstance(found.function, list) else [found.function]
    chat = Chat().take(message for turn in found.question for message in turn)
    conversation = replace(chat.conversation(tools_of(functions)), split="held_out")
    if chat.steps:
        raise BadRow("the question contains tool calls")
    if answers is None:
        return replace(conversation, answers=(*conversation.answers[:-1], ABSTAINS))
    if found.id not in answers:
        raise BadRow(f"no possible answer has the id {found.id[:60]!r}")
    calls = tuple(call_of(one) for one in validate_row(Answer, answers[found.id]).ground_truth)
    return replace(conversation, steps=(Step(calls, len(conversation.turns) - 1),) if calls else ())


def id_of(row: Mapping[str, Any]) -> str:
    """Return the id of a row of possible answers. Raises BadRow."""
    return validate_row(AnswerIdentifier, row).id


def call_of(accepted: dict[str, dict[str, list[Any]]]) -> ToolCall:
    """Return a call with the first accepted value of each argument. Raises BadRow."""
    if len(accepted) != 1:
        raise BadRow("a call in a possible answer must have exactly one name")
    ((name, arguments),) = accepted.items()
    return ToolCall(name, pick_accepted_values(arguments))


def pick_accepted_values(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the first accepted value of each required argument."""
    return {
        name: value(right[0]) for name, right in arguments.items() if isinstance(right, list) and is_required(right)
    }


def is_required(right: list[Any]) -> bool:
    return bool(right) and "" not in right


def value(right: Any) -> Any:
    """Return an accepted value; the values in an object are again lists of accepted values."""
    if isinstance(right, dict):
        return pick_accepted_values(right)
    return [value(one) for one in right] if isinstance(right, list) else right
