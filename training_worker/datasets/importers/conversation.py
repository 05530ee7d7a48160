"""Conversion of imported rows: to a conversation, or to a reason why the row is skipped or invalid."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from ...chat.json_schema import BadSchema, tool_of
from ...chat.protocol import CALL
from ...core.trajectory import Example, ForeignTool, Split, Step, ToolCall, WorldRef, dumps
from ...dataflow.provenance import value_edges
from ...reward.provenance import find_schema_scalars
from .rows import one_line, parse_strict_json

ABSTAINS = "I cannot do that with the tools I have."
CALL_DUE = "a call is due"
SHORTEST = 2  # minimum characters of a value that links a result to a later call
M = TypeVar("M", bound=BaseModel)


class BadRow(Exception):
    """A row that is not a valid conversation of its format; the message says why."""


class LeftOut(Exception):
    """A valid row that is not imported; the message says why, and is counted."""


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """An imported conversation. Without steps, no call is required. `answers` are the closing texts of the turns."""

    turns: tuple[str, ...]
    answers: tuple[str, ...]
    tools: tuple[ForeignTool, ...]
    steps: tuple[Step, ...] = ()
    system: str = ""
    split: Split = "train"


Convert = Callable[[Mapping[str, Any]], Conversation]


def example_of(found: Conversation, source: str, split: Split | None) -> Example:
    """Return the example of a conversation; its id is a hash of its contents. Raises BadRow, LeftOut."""
    if not all(turn.strip() for turn in found.turns) or not found.turns:
        raise BadRow("a user message is empty or missing")
    if any(CALL.search(answer) for answer in found.answers):
        raise LeftOut("the assistant's words would be read as a call")
    known = {tool.name for tool in found.tools}
    for call in (call for step in found.steps for call in step.calls):
        if call.name not in known:
            raise BadRow(f"it calls {call.name[:60]!r}, which is not one of its tools")
    contents = dumps(found)
    edges, order_unknown = order_of(found)
    return Example(
        id=f"{source}-{blake2b(contents.encode(), digest_size=6).hexdigest()}",
        kind="chain" if found.steps else "irrelevance",
        split=split or found.split,
        world=WorldRef(0, ()),
        turns=found.turns,
        steps=found.steps,
        edges=edges,
        candidates=tuple(tool.name for tool in found.tools),
        answers=found.answers,
        digests=("",),
        fingerprint="",
        source=source,
        system=found.system,
        tools=found.tools,
        order_unknown=order_unknown,
    )


def order_of(found: Conversation) -> tuple[tuple[tuple[int, int], ...], bool]:
    """Return the edges that follow from the values of results, and whether missing results may hide further edges.

    The results of the last step do not matter. Values that a schema lists, and short or boolean values, which many
    results have by chance, do not count.
    """
    offered = {tool.name: {str(one) for one in find_schema_scalars(tool.parameters, False)} for tool in found.tools}

    def names(tool: str, value: Any) -> bool:
        text = "" if value is None or isinstance(value, bool) else str(value)
        return len(text) >= SHORTEST and text not in offered.get(tool, ())

    edges = tuple(sorted(set(value_edges(found.turns, found.steps, names=names))))
    return edges, any(len(step.observations) < len(step.calls) for step in found.steps[:-1])


def validate_row(model: type[M], row: Any) -> M:
    """Validate a row, or a part of one, with a pydantic model. Raises BadRow naming the first error."""
    try:
        return model.model_validate(row)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in fault["loc"] if not str(part).startswith("function-"))
        raise BadRow(f"{where[:100] or 'the row'}: {fault['msg'][:200]}") from None


def tools_of(given: Any) -> tuple[ForeignTool, ...]:
    """Parse tools from a list or its JSON text, each a schema or its JSON text; keep the first of each name.

    Raises BadRow.
    """
    found = parse_json_value(given, "tools")
    if not isinstance(found, list):
        raise BadRow("tools: not a list")
    try:
        tools = [tool_of(parse_json_value(one, "a tool")) for one in found]
    except BadSchema as error:
        raise BadRow(str(error)) from None
    first: dict[str, ForeignTool] = {}
    for tool in tools:
        first.setdefault(tool.name, tool)
    return tuple(first.values())


def parse_json_value(given: Any, what: str) -> Any:
    """Return a value, parsed if it is JSON text. Raises BadRow."""
    if not isinstance(given, str):
        return given
    try:
        return parse_strict_json(given)
    except (ValueError, RecursionError) as error:
        raise BadRow(f"{what}: not valid JSON ({one_line(error)})") from None


class TextPart(BaseModel):
    type: Literal["text"]
    text: str


class Function(BaseModel):
    name: str
    arguments: str | dict[str, Any] | None = None


class Call(BaseModel):
    id: str | None = None
    function: Function


class ChatMessage(BaseModel):
    """A message in the OpenAI chat format."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[TextPart] | None = None
    tool_calls: list[Call] | None = None
    tool_call_id: str | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content)
        return self.content or ""


class Chat:
    """A collector that sorts messages into turns, steps and answers. Raises BadRow."""

    def __init__(self) -> None:
        self.system: list[str] = []
        self.turns: list[str] = []
        self.said: list[list[str]] = []
        self.steps: list[Step] = []
        self.waiting: dict[str, int] = {}  # ids of the last step's calls, and their places in it
        self.answered: list[str] = []

    def take(self, messages: Iterable[ChatMessage]) -> Chat:
        for message in messages:
            getattr(self, {"developer": "on_system"}.get(message.role, f"on_{message.role}"))(message)
        self.close_step()
        return self

    def on_system(self, message: ChatMessage) -> None:
        if self.turns:
            raise BadRow("a system message comes after a user message")
        self.system.append(message.text)

    def on_user(self, message: ChatMessage) -> None:
        self.close_step()
        self.turns.append(message.text)
        self.said.append([])

    def on_assistant(self, message: ChatMessage) -> None:
        self.close_step()
        if not self.turns:
            raise BadRow("an assistant message comes before the first user message")
        if not message.tool_calls:
            self.said[-1].append(message.text)
            return
        calls = tuple(ToolCall(call.function.name, arguments_of(call)) for call in message.tool_calls)
        self.waiting = {call.id or f"#{place}": place for place, call in enumerate(message.tool_calls)}
        self.answered = []
        self.steps.append(Step(calls, len(self.turns) - 1))

    def on_tool(self, message: ChatMessage) -> None:
        """Add a tool result; results are in the order of the calls, or name their call."""
        if not self.waiting:
            raise BadRow("a tool message has no call before it")
        id = message.tool_call_id or next(iter(self.waiting))
        if id not in self.waiting:
            id = next(iter(self.waiting)) if all(name.startswith("#") for name in self.waiting) else id
        if self.waiting.pop(id, None) is None:
            raise BadRow(f"a tool message answers the call {id[:40]!r}, which was not made")
        self.answered.append(message.text)

    def close_step(self) -> None:
        """Store the results of the last step when the next message begins."""
        if self.answered:
            last = self.steps.pop()
            self.steps.append(Step(last.calls, last.turn, tuple(self.answered)))
        self.waiting, self.answered = {}, []

    def conversation(self, tools: Sequence[ForeignTool]) -> Conversation:
        return Conversation(
            turns=tuple(self.turns),
            answers=tuple("\n\n".join(filter(None, said)) for said in self.said),
            tools=tuple(tools),
            steps=tuple(self.steps),
            system="\n\n".join(filter(None, self.system)),
        )


def arguments_of(call: Call) -> dict[str, Any]:
    given = parse_json_value(call.function.arguments or "{}", f"the arguments of {call.function.name[:60]}")
    if not isinstance(given, dict):
        raise BadRow(f"the arguments of {call.function.name[:60]} are not an object")
    return given
