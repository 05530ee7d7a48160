"""Failures met on the way, each found by running it: a slip that is put right, and a wish that has become impossible.

Every value of a failing call is grounded like those of any other, and a refused call changes nothing, so that the
ground truth, which holds what the task needs, stays what it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_servers.catalogue import TOOLS
from mcp_servers.kit import Draw, Tool
from mcp_servers.world import World

from ..trajectory import ToolCall
from .language import choose, clause, fields
from .plan import PlannedCall
from .planner import POINTER, Done
from .sampler import Context, NothingFits, fill
from .wording import thing

NOT_OF_THE_STATE = frozenset({"invalid_arguments", "unknown_tool"})
WISHES = 12  # tools that are tried for one that has become impossible


@dataclass(frozen=True)
class Wish:
    """A call that the conversation itself made impossible: it would have worked at the beginning. And its words."""

    call: ToolCall
    words: str
    why: str


def slip(
    position: int, steps: Sequence[Done], turn_of: Sequence[int], candidates: Sequence[str], draw: Draw
) -> ToolCall | None:
    """A call that an assistant may make by mistake just before a step, and that is refused there."""
    before = steps[position].before
    assert before is not None
    for call in draw.shuffled(list(slips(position, steps, turn_of, candidates))):
        if not before.fork().call(call.name, call.arguments or {}).ok:
            return call
    return None


def slips(
    position: int, steps: Sequence[Done], turn_of: Sequence[int], candidates: Sequence[str]
) -> Iterator[ToolCall]:
    """What may go wrong: a thing called by its name where its id is due; a later step too early; a tool like it."""
    step = steps[position]
    for name, words in step.words.items():
        if isinstance(step.arguments[name], str) and name in step.fed_by and not words.startswith(POINTER):
            yield ToolCall(step.tool, step.arguments | {name: called(words, thing(TOOLS[step.tool][1].ids[name]))})
    for later in range(position + 1, len(steps)):
        if turn_of[later] == turn_of[position] and all(giver < position for giver in steps[later].fed_by.values()):
            yield ToolCall(steps[later].tool, steps[later].arguments)
    tools = {one.tool for one in steps}
    for name in candidates:
        arguments = taken_over(step, TOOLS[name][1]) if name not in tools else None
        if arguments:
            yield ToolCall(name, arguments)


def called(words: str, thing: str) -> str:
    """The name alone: "the travel account" is called travel, and the social post "the post Good day" Good day."""
    words, short = words.removeprefix("the "), thing.split()[-1]
    return words.removeprefix(f"{thing} ").removesuffix(f" {thing}").removeprefix(f"{short} ").removesuffix(f" {short}")


def taken_over(step: Done | PlannedCall, tool: Tool) -> dict[str, Any] | None:
    """The arguments of a step as another tool takes them, ids by their type; None when it needs more."""
    own = TOOLS[step.tool][1].ids
    arguments = {}
    for name in tool.required:
        wanted = tool.ids.get(name)
        same = [of for of in step.arguments if (own.get(of) == wanted if wanted else of == name and of not in own)]
        if not same:
            return None
        arguments[name] = step.arguments[same[0]]
    return arguments


def wish(steps: Sequence[Done], opening: World, after: World, context: Context, draw: Draw) -> Wish | None:
    """Something to ask for at the end that worked at the beginning, and is refused for what the steps changed."""
    known = {
        type: step.arguments[name]
        for step in steps
        if TOOLS[step.tool][1].writes
        for name, type in TOOLS[step.tool][1].ids.items()
        if isinstance(step.arguments.get(name), str)
    }
    about = [t for t in after.tools().values() if t.writes and not t.sensitive and set(t.ids.values()) & set(known)]
    for tool in draw.sample(about, WISHES):
        bound = {name: known[type] for name, type in tool.ids.items() if name in tool.required and type in known}
        if not bound:
            continue
        ask, _ = choose(tool, draw, wishes=0)
        try:
            arguments = fill(tool, bound, context, draw, after)
        except NothingFits:
            continue
        reply = after.fork().call(tool.name, arguments)
        if reply.ok or reply.data["error"] in NOT_OF_THE_STATE or set(arguments) - set(fields(ask)):
            continue
        if opening.fork().call(tool.name, arguments).ok:
            return Wish(ToolCall(tool.name, arguments), clause(ask, arguments, {}), str(reply.data["message"]))
    return None
