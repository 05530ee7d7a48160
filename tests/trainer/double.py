"""A bank of one account for the trainer's tests: an attempt without servers, scored by the real reward."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from training_worker.chat.protocol import parse_calls
from training_worker.core.trajectory import Boundary, Example, ExecutedCall, Message, Rollout, Step, ToolCall, WorldRef
from training_worker.reward import form_level, score

NAMES = ("Maria Lopez", "Viktor Sato", "Greta Khan", "Omar Diaz")


def tool(name: str, description: str, parameter: str) -> dict[str, Any]:
    properties = {parameter: {"type": "string", "description": f"The {parameter.replace('_', ' ')}."}}
    parameters = {"type": "object", "properties": properties, "required": [parameter]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TOOLS = {
    "find_account": tool("find_account", "Find the account of a person.", "name"),
    "get_balance": tool("get_balance", "Tell the balance of an account.", "account_id"),
    "close_account": tool("close_account", "Close an account for good.", "account_id"),
}


class Bank:
    """An attempt at an example; the account's id and balance follow from the seed. Longer than `turns` it is over."""

    def __init__(self, example: Example, turns: int = 6):
        self.example, self.left = example, turns
        self.tools = tuple(TOOLS[name] for name in example.candidates)
        self.opening = (Message("user", example.turns[0]),)
        self.transcript, self.calls = list(self.opening), list[ExecutedCall]()
        self.turns_sent, self.over, self.end = 1, False, "tokens"
        self.failed_at: Boundary | None = None
        self.shorten: Callable[[str], str] = str

    def answer(self, text: str, *, truncated: bool = False) -> tuple[Message, ...]:
        self.transcript.append(Message("assistant", text))
        self.left -= 1
        calls = () if truncated else parse_calls(text)
        following = tuple(Message("tool", self.run(call)) for call in calls)
        if not calls and not truncated and self.turns_sent < len(self.example.turns):
            following = (Message("user", self.example.turns[self.turns_sent]),)
            self.turns_sent += 1
        if truncated or not following or self.left == 0:
            self.over, self.end = True, "tokens" if truncated else "answered"
            return ()
        self.transcript.extend(following)
        return following

    def run(self, call: ToolCall) -> str:
        reply = replies(self.example.world.seed).get((call.name, json.dumps(call.arguments, sort_keys=True)))
        schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in self.tools}
        level = form_level(call, schemas)
        self.calls.append(ExecutedCall(call, 3 if reply and level == 2 else level, reply or '{"error": "unknown"}'))
        return self.calls[-1].observation

    def overdue(self) -> bool:
        return False

    def fail(self, boundary: Boundary, error: str) -> None:
        self.over, self.end, self.failed_at = True, "infrastructure", boundary

    def finish(self) -> Rollout:
        reward = score(self.example.steps, self.example.edges, self.calls)
        return Rollout(
            example=self.example.id,
            transcript=tuple(self.transcript),
            calls=tuple(self.calls),
            end=self.end,  # type: ignore[arg-type]
            reward=None if self.failed_at else reward,
            failed_at=self.failed_at,
        )


def replies(seed: int) -> dict[tuple[str, str], str]:
    account, name = f"ACC-{1000 + seed * 37 % 9000}", NAMES[seed % len(NAMES)]
    return {
        ("find_account", json.dumps({"name": name})): json.dumps({"id": account, "name": name}),
        ("get_balance", json.dumps({"account_id": account})): json.dumps({"balance": 100 + seed}),
    }


def example(seed: int) -> Example:
    """Find someone's account; in a second turn, report its balance. Every fifth asks for what no tool can do."""
    steps = tuple(
        Step((ToolCall(name, json.loads(arguments)),), turn, (reply,))
        for turn, ((name, arguments), reply) in enumerate(replies(seed).items())
    )
    able = seed % 5 > 0
    turns = (f"Which account has {NAMES[seed % len(NAMES)]}?", "And what is its balance?")
    return Example(
        id=f"bank-{seed}",
        kind="chain" if able else "irrelevance",
        split="train",
        world=WorldRef(seed, ("bank",)),
        turns=turns if able else ("Translate this poem.",),
        steps=steps if able else (),
        edges=((0, 1),) if able else (),
        candidates=tuple(TOOLS)[: 2 + seed % 2],
        answers=("It is done.", "There you are.") if able else ("I cannot do that.",),
        digests=(),
        fingerprint="bank",
    )
