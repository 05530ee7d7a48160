"""What differs when one conversation's calls are made again in a fresh world of today: everything, not the first thing.

A demonstration is its ground truth, an attempt the calls that a policy made. `replay.py` tells of a whole data set
which conversations no longer hold; this tells a person who is to accept one what there is to know of it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from mcp_servers.catalogue import SERVERS, TOOLS, fingerprint
from mcp_servers.kit import Reply
from mcp_servers.world import World

from ..reward import PAPER, form_level, reward_of
from ..rollout import oracle
from ..schemas import input_schemas
from ..trajectory import Example, ExecutedCall, Reward, Rollout, ToolCall
from .replay import list_step_calls, spread, unusable

What = Literal["elsewhere", "record", "server", "tool", "schema", "world", "answer", "state", "reward"]
EQUAL = 1e-9
CONTEXT = 2  # lines around those that differ


class ServerBroke(Exception):
    """A server raised instead of answering: nothing is known of the conversation, and it is no drift."""


@dataclass(frozen=True)
class Difference:
    """One thing that is not as it was recorded, in a sentence.

    `call` counts the conversation's calls from 1, None where it is about no one call; `lines` are a unified diff of
    what was answered then and is answered now, whole.
    """

    what: What
    text: str
    call: int | None = None
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rerun:
    """What came of it today. `before` and `reward` are by the paper: of the record, and of this run.

    Both are None where today's servers cannot run it; `digest` is the world's at its end, "" where there is none.
    """

    fingerprint: str
    digest: str = ""
    before: Reward | None = None
    reward: Reward | None = None
    differences: tuple[Difference, ...] = ()


def rerun(example: Example, attempt: Rollout | None = None) -> Rerun:
    """Make the calls of an example again, or those of an attempt at it. Raises ServerBroke.

    The example has to run here (`Example.runs_here`); what it was made with is compared with the servers of now.
    """
    servers = example.world.servers
    if gone := [name for name in servers if name not in SERVERS]:
        return Rerun("", differences=tuple(Difference("server", f"There is no server {one} any more.") for one in gone))
    if not example.source and (wrong := unusable(example)) and wrong.cause == "record":
        return Rerun(fingerprint(servers), differences=(Difference("record", wrong.reason),))
    today = replace(example, fingerprint=fingerprint(servers))
    lost = lost_tools(example)
    found, digest, calls = attempted(today, attempt) if attempt else demonstrated(today)
    if lost:  # the model cannot even be shown its tools
        return Rerun(today.fingerprint, digest, differences=(*lost, *found))
    before = reward_of(example, attempt or recorded(example), PAPER)
    now = reward_of(today, replace(attempt, calls=tuple(calls)), PAPER) if attempt else perfect(today)
    changed = () if abs(before.total - now.total) <= EQUAL else (Difference("reward", earned(before, now)),)
    return Rerun(today.fingerprint, digest, before, now, (*lost, *found, *changed))


def lost_tools(example: Example) -> list[Difference]:
    """The tools that the model was shown and that are gone; an imported example brings its own."""
    if example.source:
        return []
    gone = [name for name in example.offered if name not in TOOLS]
    return [Difference("tool", f"There is no tool {name} any more, which the model was shown.") for name in gone]


def recorded(example: Example) -> Rollout:
    """The ground truth as an attempt, as far as the record tells: its calls are taken to have worked."""
    calls = tuple(
        ExecutedCall(call, 3, text)
        for step in example.steps
        for call, text in zip(step.calls, step.observations, strict=True)
    )
    return Rollout(example=example.id, transcript=(), calls=calls, end="answered", reward=None)


def perfect(example: Example) -> Reward:
    """What the demonstration earns when it is run as a policy would. Raises ServerBroke."""
    rollout = oracle(example)
    if rollout.reward is None:
        raise ServerBroke(rollout.error)
    return rollout.reward


def earned(before: Reward, now: Reward) -> str:
    return f"It earned {before.total:.3f} as recorded, and earns {now.total:.3f} now."


Found = tuple[list[Difference], str, list[ExecutedCall]]


def demonstrated(example: Example) -> Found:
    """The ground truth, with what failed on the way, step by step; the world's digest is compared after each."""
    if not example.world.servers:  # imported, with nothing to call
        return [], "", []
    world, found, number, other = opened(example), list[Difference](), 0, list[int]()
    if world.digest() != example.digests[0]:
        found.append(Difference("world", f"The world of seed {example.world.seed} is another one from its opening."))
    for position in range(len(example.steps) + 1):
        pairs = list_step_calls(example, position)
        truth = len(example.steps[position].calls) if position < len(example.steps) else 0
        for place, (call, then) in enumerate(pairs):
            counts = place >= len(pairs) - truth  # failures come first and have no number
            number += counts
            reply = answer(world, call)
            found += compared(call, then, reply.text, number if counts else None)
        if position < len(example.steps) and world.digest() != example.digests[position + 1]:
            other.append(position + 1)
    return found + states(other, len(example.steps)), world.digest(), []


def states(other: list[int], steps: int) -> list[Difference]:
    """Of digests that differ the first is named: those after it nearly always follow."""
    if not other:
        return []
    text = f"After step {other[0]} of {steps} the world is another one than was recorded."
    return [Difference("state", f"{text} So it is after {len(other) - 1} more." if len(other) > 1 else text)]


def attempted(example: Example, attempt: Rollout) -> Found:
    """The calls of an attempt that reached its world, in a fresh one."""
    if not example.world.servers:
        return [], "", list(attempt.calls)
    world, found, calls = opened(example), list[Difference](), list[ExecutedCall]()
    offered = tuple(name for name in example.offered if name in TOOLS)
    schemas = input_schemas(replace(example, candidates=offered, arrivals=()))
    for number, one in enumerate(attempt.calls, 1):
        if one.level == 0 or one.call.arguments is None:
            calls.append(one)  # malformed, or of no tool that it was offered: it was not run
            continue
        reply = answer(world, one.call)
        found += compared(one.call, one.observation, reply.text, number)
        level = form_level(one.call, schemas)
        calls.append(replace(one, level=3 if reply.ok and level == 2 else level, observation=reply.text))
    digest = world.digest()
    if attempt.digest and digest != attempt.digest:
        found.append(Difference("state", "At its end the world is another one than was recorded."))
    return found, digest, calls


def opened(example: Example) -> World:
    try:
        return World.open(example.world.seed, example.world.servers, example.world.size)
    except Exception as error:
        raise ServerBroke(f"its world cannot be opened: {type(error).__name__}: {error}") from error


def answer(world: World, call: ToolCall) -> Reply:
    """What a tool answers; whatever it raises in the place of a reply is the server's failure."""
    try:
        return world.call(call.name, call.arguments or {})
    except Exception as error:
        raise ServerBroke(f"{call.name}: {type(error).__name__}: {error}") from error


def compared(call: ToolCall, then: str, now: str, number: int | None) -> Iterator[Difference]:
    """One difference, if there is any, named by the call's number."""
    which = f"Call {number}, {call.name}," if number else f"{call.name}, which fails on the way,"
    if call.name not in TOOLS:
        yield Difference("tool", f"{which} is of a tool that is not there any more.", number)
    elif then != now:
        yield Difference("answer", f"{which} is answered otherwise.", number, tuple(difference(then, now)))


def difference(then: str, now: str) -> Iterable[str]:
    """A unified diff without its head: JSON is spread over lines first."""
    lines = difflib.unified_diff(spread(then), spread(now), lineterm="", n=CONTEXT)
    return [line for line in lines if not line.startswith(("---", "+++"))]
