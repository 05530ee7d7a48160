"""BFCL conversation with a policy: steps, turns and limits as in BFCL's own inference loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...chat.protocol import ChatModel
from ...core.trajectory import ExecutedCall, Message, ToolCall
from ...environment.episode import printable
from ..protocol import Policy
from .child import Child
from .entries import Entry, Suite
from .tools import tool_of

TOGETHER = 100  # calls per request to BFCL's process; a request has limits of time and size

Turn = list[list[ToolCall]]  # the calls of each step


@dataclass
class Conversation:
    """One conversation: its messages, calls and turns; the checker judges `turns`.

    `forced` says that a turn took more steps than BFCL allows, which ends the conversation. An answer with a malformed
    call ends its turn, and none of its calls is made.
    """

    entry: Entry
    suite: Suite
    policy: Policy
    model: ChatModel
    child: Child
    run: str
    messages: list[Message] = field(default_factory=list)
    functions: list[dict[str, Any]] = field(default_factory=list)
    calls: list[ExecutedCall] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    requests: int = 0
    malformed: int = 0
    forced: bool = False

    def play(self) -> None:
        """Run the conversation to its end. Raises NotRun, and what the process raises."""
        self.functions = self.suite.list_initial_functions(self.entry)
        if self.policy.style == "prompt":
            self.messages.append(Message("system", self.suite.system_text(self.functions)))
        for number, words in enumerate(self.entry.turns):
            self.messages += [Message("user", text) for text in words or [self.add_functions(number)]]
            self.turns.append([])
            self.take_steps()
            if self.forced:
                return

    def add_functions(self, turn: int) -> str:
        """Return the user's text for a turn that adds functions."""
        added = self.suite.list_added_functions(self.entry, turn)
        self.functions = [*self.functions, *added]
        return self.suite.more_text(added) if self.policy.style == "prompt" else self.suite.more_tools

    def take_steps(self) -> None:
        """Take steps until an answer makes no calls. As in BFCL, one step beyond the limit runs and ends everything."""
        for _ in range(self.suite.steps + 1):
            text = printable(self.model.reply(self.messages, self.tools()))
            self.messages.append(Message("assistant", text))
            self.requests += 1
            calls = self.read(text)
            if not calls:
                return
            self.turns[-1].append(calls)
            self.execute(calls)
        self.forced = True

    def tools(self) -> list[dict[str, Any]]:
        return [tool_of(one) for one in self.functions] if self.policy.style == "tools" else []

    def read(self, text: str) -> list[ToolCall]:
        """Return all calls of an answer; none when one of them is malformed."""
        found: Sequence[ToolCall] = ()
        if self.policy.style == "tools":
            found = self.policy.format.parse(text)
        elif pairs := self.child.call({"do": "read", "text": text}):
            found = [ToolCall(name, arguments) for name, arguments in pairs]
        if any(one.arguments is None for one in found):
            self.malformed += 1
            return []
        return list(found)

    def execute(self, calls: Sequence[ToolCall]) -> None:
        """Run a step; each call gets a tool message, or all share one user message in the notation of the prompt."""
        request = {"do": "call", "id": self.entry.id, "run": self.run}
        answers = [
            answer
            for at in range(0, len(calls), TOGETHER)
            for answer in self.child.call({**request, "calls": as_pairs(calls[at : at + TOGETHER])})
        ]
        for call, answer in zip(calls, answers, strict=True):
            level = 0 if not answer["ran"] else 2 if is_error_result(answer["text"]) else 3
            self.calls.append(ExecutedCall(call, level, answer["text"], self.requests - 1))
        if self.policy.style == "tools":
            self.messages += [Message("tool", answer["text"]) for answer in answers]
        else:
            results = [{"role": "tool", "name": one["call"], "content": one["text"]} for one in answers]
            self.messages.append(Message("user", repr(results)))


def is_error_result(text: str) -> bool:
    """Return whether a result is an error, in one of the two forms of BFCL's executor and backends."""
    return text.startswith(("Error during execution", '{"error"'))


def as_pairs(calls: Sequence[ToolCall]) -> list[tuple[str, Any]]:
    return [(call.name, call.arguments) for call in calls]
