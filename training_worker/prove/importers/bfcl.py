"""BFCL: a file of questions with their functions, and one of possible answers, joined by id.

`ground_truth` holds for each argument a list of values that are right; we take the first, and leave out an argument
that may be left out (one of its values is ""). The calls of a question are one parallel step. BFCL is a benchmark, so
its conversations come as held-out ones. Its multi-turn tasks, which run on classes of its own, have no schemas here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from ..trajectory import Step, ToolCall
from .conversation import ABSTAINS, BadRow, Chat, ChatMessage, Conversation, shaped, tools_of

Answers = Mapping[str, Mapping[str, Any]]  # rows of possible answers, by id


class Question(BaseModel):
    id: str
    question: list[list[ChatMessage]]
    function: Any


class Named(BaseModel):
    id: str


class Answer(BaseModel):
    ground_truth: list[dict[str, dict[str, list[Any]]]]


def convert(row: Mapping[str, Any], answers: Answers | None = None) -> Conversation:
    """The conversation of a question; without answers at all the right act is to call nothing. Raises BadRow."""
    if "function" not in row and "involved_classes" in row:
        raise BadRow("a task on BFCL's own classes, which has no tool schemas")
    found = shaped(Question, row)
    functions = found.function if isinstance(found.function, list) else [found.function]
    chat = Chat().take(message for turn in found.question for message in turn)
    asked = replace(chat.conversation(tools_of(functions)), split="held_out")
    if chat.steps:
        raise BadRow("calls are made in the question")
    if answers is None:
        return replace(asked, answers=(*asked.answers[:-1], ABSTAINS))
    if found.id not in answers:
        raise BadRow(f"there is no possible answer with the id {found.id[:60]!r}")
    calls = tuple(call_of(one) for one in shaped(Answer, answers[found.id]).ground_truth)
    return replace(asked, steps=(Step(calls, len(asked.turns) - 1),) if calls else ())


def id_of(row: Mapping[str, Any]) -> str:
    """The id of a row of possible answers. Raises BadRow."""
    return shaped(Named, row).id


def call_of(accepted: dict[str, dict[str, list[Any]]]) -> ToolCall:
    """A call with the first right value of each argument. Raises BadRow."""
    if len(accepted) != 1:
        raise BadRow("a possible answer has a call with more than one name, or none")
    ((name, arguments),) = accepted.items()
    return ToolCall(name, chosen(arguments))


def chosen(arguments: dict[str, Any]) -> dict[str, Any]:
    """The first right value of each argument that must be given."""
    return {name: value(right[0]) for name, right in arguments.items() if isinstance(right, list) and needed(right)}


def needed(right: list[Any]) -> bool:
    return bool(right) and "" not in right


def value(right: Any) -> Any:
    """A right value; the values in an object are lists of right ones again."""
    if isinstance(right, dict):
        return chosen(right)
    return [value(one) for one in right] if isinstance(right, list) else right
