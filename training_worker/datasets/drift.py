"""Drift of a conversation: all differences when its calls are repeated in a fresh world of the present servers.

The calls are the ground truth of a demonstration, or those of a policy's attempt. `replay.py` finds the conversations
of a dataset that are no longer valid; this module reports all differences of one to the person who accepts it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from mcp_servers.catalogue import SERVERS, TOOLS, fingerprint
from mcp_servers.core import Reply
from mcp_servers.world import World

from ..chat.schemas import input_schemas
from ..core.trajectory import Example, ExecutedCall, Reward, Rollout, ToolCall
from ..environment.episode import oracle
from ..reward import PAPER, form_level, reward_of
from .replay import list_step_calls, spread, unusable

What = Literal["elsewhere", "record", "server", "tool", "schema", "world", "answer", "state", "reward"]
EQUAL = 1e-9
CONTEXT = 2  # lines of context in a diff


class ServerBroke(Exception):
    """A server that raised instead of answering; this is not drift, and nothing is known about the conversation."""


@dataclass(frozen=True)
class Difference:
    """One difference to the record, as a sentence.

    `call` counts the conversation's calls from 1, None where the difference is not about one call; `lines` are the
    complete unified diff of the recorded and the present observation.
    """

    what: What
    text: str
    call: int | None = None
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rerun:
    """The result of a rerun. `before` and `reward` are the paper's rewards of the record and of this run.

    Both are None where the present servers cannot run it; `digest` is the final world's, "" where there is none.
    """

    fingerprint: str
    digest: str = ""
    before: Reward | None = None
    reward: Reward | None = None
    differences: tuple[Difference, ...] = ()


def rerun(example: Example, attempt: Rollout | None = None) -> Rerun:
    """Repeat the calls of an example, or those of an attempt at it, and compare with the record. Raises ServerBroke.

    The example must run here (`Example.runs_here`).
    """
    servers = example.world.servers
    if gone := [name for name in servers if name not in SERVERS]:
        return Rerun("", differences=tuple(Difference("server", f"The server {one} no longer exists.") for one in gone))
    if not example.source and (wrong := unusable(example)) and wrong.cause == "record":
        return Rerun(fingerprint(servers), differences=(Difference("record", wrong.reason),))
    today = replace(example, fingerprint=fingerprint(servers))
    lost = lost_tools(example)
    found, digest, calls = replay_rollout(today, attempt) if attempt else replay_ground_truth(today)
    if lost:  # the tools cannot be offered to the model
        return Rerun(today.fingerprint, digest, differences=(*lost, *found))
    before = reward_of(example, attempt or build_ground_truth_rollout(example), PAPER)
    now = (
        reward_of(today, replace(attempt, calls=tuple(calls)), PAPER) if attempt else compute_ground_truth_reward(today)
    )
    changed = (
        () if abs(before.total - now.total) <= EQUAL else (Difference("reward", describe_reward_change(before, now)),)
    )
    return Rerun(today.fingerprint, digest, before, now, (*lost, *found, *changed))


def lost_tools(example: Example) -> list[Difference]:
    """Return the offered tools that no longer exist; an imported example has its own tools."""
    if example.source:
        return []
    gone = [name for name in example.offered if name not in TOOLS]
    return [Difference("tool", f"The tool {name}, which the model was offered, no longer exists.") for name in gone]


def build_ground_truth_rollout(example: Example) -> Rollout:
    """Return the ground truth as an attempt whose calls all succeeded."""
    calls = tuple(
        ExecutedCall(call, 3, text)
        for step in example.steps
        for call, text in zip(step.calls, step.observations, strict=True)
    )
    return Rollout(example=example.id, transcript=(), calls=calls, end="answered", reward=None)


def compute_ground_truth_reward(example: Example) -> Reward:
    """Return the reward of a policy that follows the ground truth. Raises ServerBroke."""
    rollout = oracle(example)
    if rollout.reward is None:
        raise ServerBroke(rollout.error)
    return rollout.reward


def describe_reward_change(before: Reward, now: Reward) -> str:
    return f"The reward was {before.total:.3f} as recorded and is {now.total:.3f} now."


Found = tuple[list[Difference], str, list[ExecutedCall]]


def replay_ground_truth(example: Example) -> Found:
    """Run the ground truth with its recorded failures step by step, comparing the world's digest after each step."""
    if not example.world.servers:  # imported, with nothing to call
        return [], "", []
    world, found, number, other = open_world(example), list[Difference](), 0, list[int]()
    if world.digest() != example.digests[0]:
        found.append(Difference("world", f"The initial world of seed {example.world.seed} differs from the record."))
    for position in range(len(example.steps) + 1):
        pairs = list_step_calls(example, position)
        truth = len(example.steps[position].calls) if position < len(example.steps) else 0
        for place, (call, then) in enumerate(pairs):
            counts = place >= len(pairs) - truth  # failures come first and have no number
            number += counts
            reply = answer(world, call)
            found += compare_observations(call, then, reply.text, number if counts else None)
        if position < len(example.steps) and world.digest() != example.digests[position + 1]:
            other.append(position + 1)
    return found + states(other, len(example.steps)), world.digest(), []


def states(other: list[int], steps: int) -> list[Difference]:
    """Report the first step whose digest differs; later ones nearly always differ, too."""
    if not other:
        return []
    text = f"After step {other[0]} of {steps}, the world differs from the recorded one."
    return [Difference("state", f"{text} It also differs after {len(other) - 1} more." if len(other) > 1 else text)]


def replay_rollout(example: Example, attempt: Rollout) -> Found:
    """Repeat in a fresh world the calls of an attempt that reached its world."""
    if not example.world.servers:
        return [], "", list(attempt.calls)
    world, found, calls = open_world(example), list[Difference](), list[ExecutedCall]()
    offered = tuple(name for name in example.offered if name in TOOLS)
    schemas = input_schemas(replace(example, candidates=offered, arrivals=()))
    for number, one in enumerate(attempt.calls, 1):
        if one.level == 0 or one.call.arguments is None:
            calls.append(one)  # malformed, or of a tool that was not offered: it did not run
            continue
        reply = answer(world, one.call)
        found += compare_observations(one.call, one.observation, reply.text, number)
        level = form_level(one.call, schemas)
        calls.append(replace(one, level=3 if reply.ok and level == 2 else level, observation=reply.text))
    digest = world.digest()
    if attempt.digest and digest != attempt.digest:
        found.append(Difference("state", "The final world differs from the recorded one."))
    return found, digest, calls


def open_world(example: Example) -> World:
    try:
        return World.open(example.world.seed, example.world.servers, example.world.size)
    except Exception as error:
        raise ServerBroke(f"its world cannot be opened: {type(error).__name__}: {error}") from error


def answer(world: World, call: ToolCall) -> Reply:
    """Return a tool's reply; any exception is the server's failure. Raises ServerBroke."""
    try:
        return world.call(call.name, call.arguments or {})
    except Exception as error:
        raise ServerBroke(f"{call.name}: {type(error).__name__}: {error}") from error


def compare_observations(call: ToolCall, then: str, now: str, number: int | None) -> Iterator[Difference]:
    """Yield the difference of a call's observations, if any, with the call's number."""
    which = f"Call {number}, {call.name}," if number else f"The recorded failure of {call.name}"
    if call.name not in TOOLS:
        yield Difference("tool", f"{which} uses a tool that no longer exists.", number)
    elif then != now:
        yield Difference("answer", f"{which} has a different result.", number, tuple(difference(then, now)))


def difference(then: str, now: str) -> Iterable[str]:
    """Return a unified diff without its header; JSON is first spread over lines."""
    lines = difflib.unified_diff(spread(then), spread(now), lineterm="", n=CONTEXT)
    return [line for line in lines if not line.startswith(("---", "+++"))]
