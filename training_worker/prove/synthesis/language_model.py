"""The teacher that is a language model: it words what the user wants, and acts as the assistant, call by call.

The chain, the entities that may be spoken of, the level and the manner are given to it; what it makes of them runs live
and has to pass the same validation as what the programmatic teacher makes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcp_servers.catalogue import TOOLS

from ..provenance import grounded, single
from ..schemas import tool_schema
from ..trajectory import Message, Step, ToolCall
from .endpoint import Endpoint
from .endpoint.asking import ask
from .language import leaks
from .machine import Lesson, Move, Stuck, Talk
from .sampler import Context

SHOWN = 12  # entities of a type in the context that the model is shown
LONGEST = 1_500  # characters of a user turn
LEVELS = {
    "complete": "Say every value that the assistant cannot find out with the tools.",
    "missing": "Leave out exactly one value that the assistant needs and cannot find out, so that it has to ask.",
    "minimal": "Say as little as possible: only what the assistant cannot find out with the tools.",
}
USER = """You play the user of an assistant that has tools. You know nothing of the tools' names or fields, and never
write one. Speak in the first person, as a person would, in a {persona} manner. Today is {day}; write
days as 2026-03-05. Speak only of things in the list of what there is, and call them what they are called there.
Answer with JSON only: {{"text": "what you say"}}"""
WANT = """What there is: {context}
What you want in this conversation, in this order: {wants}
{level}
Now say the first thing that you want of the assistant, one or two of your wishes."""
NEXT = """The conversation so far:
{so_far}

What you want in this conversation: {wants}
What there is: {context}
Now say your next turn. If the assistant asked you something, answer just that. Otherwise go on with the next wish."""
ASSISTANT = """You are an assistant with tools. Do what the user asks by calling them; take every value from what the
user said or a tool showed, and never make one up. Ask when a value is missing. When no tool can do what is asked, say
so and call none. When all is done, say so briefly. Today is {day}."""


@dataclass(frozen=True)
class Words:
    """What the model is asked to say as the user."""

    text: str


class LanguageModel:
    """A teacher behind an endpoint. Raises EndpointFailed, which no conversation is to blame for, and Stuck."""

    today = ""  # its users say days in full

    def __init__(self, lesson: Lesson, endpoint: Endpoint):
        task, knobs, draw = lesson.task, lesson.knobs, lesson.manner
        self.task, self.endpoint = task, endpoint
        self.day = f"{lesson.world.now:%A, %Y-%m-%d}"
        context = lesson.context
        self.context = shown(context)
        self.tools = [tool_schema(name) for name in task.candidates]
        self.turns = draw.weighted(tuple(knobs.turns), tuple(knobs.turns.values())) + (task.level == "missing")
        if task.kind != "chain":
            self.turns = 1

    def ask(self, talk: Talk) -> str | None:
        if len(talk.turns) >= self.turns:
            return None
        told = {
            "context": self.context,
            "wants": "; ".join(TOOLS[name][1].description.split(".")[0] for name in self.task.chain),
            "level": LEVELS[self.task.level],
            "so_far": "\n".join(f"{message.role}: {message.content}" for message in talk.messages),
        }
        rules = USER.format(persona=self.task.persona or "plain", day=self.day)
        wanted = (NEXT if talk.turns else WANT).format(**told)
        answer = ask(self.endpoint, (Message("system", rules), Message("user", wanted)), Words, unfit)
        if answer.value is None:
            raise Stuck(f"The user's words are no good: {answer.why}")
        return answer.value.text.strip()

    def move(self, talk: Talk, fault: str) -> Move:
        rules = ASSISTANT.format(day=self.day)
        if fault:
            rules += f"\nYour last attempt was not valid: {fault}. Try again."
        reply = self.endpoint.chat((Message("system", rules), *talk.messages), self.tools)
        return Move(
            reply.calls, reply.text, asks=reply.text.rstrip().endswith("?"), rests_on=sources(reply.calls, talk)
        )


def unfit(words: Words) -> str:
    """Why a user would not say this; nothing when one might."""
    if not words.text.strip() or len(words.text) > LONGEST:
        return f"say something, in at most {LONGEST:,} letters"
    if leaked := leaks(words.text):
        return f"no user says the name of a tool or field: {', '.join(sorted(leaked))}"
    return ""


def shown(context: Context) -> str:
    """The context as the model sees it: the first entities of each type, with their names, and plain values."""
    ids = {
        type: [f"{found.label} ({found.id})" if found.label else found.id for found in list(known.values())[:SHOWN]]
        for type, known in sorted(context.ids.items())
    }
    values = {name: list(known)[:SHOWN] for name, known in sorted(context.values.items())}
    return json.dumps({**ids, **values}, ensure_ascii=False)


def sources(calls: Sequence[ToolCall], talk: Talk) -> tuple[int, ...]:
    """The steps that gave the calls an id which the user did not: of several the last."""
    said, found = " ".join(talk.turns), set()
    for call in calls:
        ids = TOOLS[call.name][1].ids if call.name in TOOLS else {}
        for value in single({name: one for name, one in (call.arguments or {}).items() if name in ids}):
            givers = [number for number, step in enumerate(talk.steps) if shows(step, value)]
            if givers and not grounded(value, said):
                found.add(givers[-1])
    return tuple(sorted(found))


def shows(step: Step, value: Any) -> bool:
    return any(grounded(value, text) for text in step.observations)
