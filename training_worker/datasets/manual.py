"""Examples from calls that a person made in a live session; they become the ground truth if a fresh world agrees.

The person writes the user's requests, in one turn or several; dependences between calls are found by running them, as
for synthesized examples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcp_servers.catalogue import SERVERS, TOOLS, fingerprint
from mcp_servers.core import Draw
from mcp_servers.core.rng import FIRST_HELD_OUT_SEED
from mcp_servers.world import World

from ..core.trajectory import Example, Json, Step, ToolCall, WorldRef
from ..dataflow.provenance import is_grounded, single, value_edges
from ..environment.episode import Limits
from ..synthesis.validate import Rejected, hidden_edges, validate

MOST_TOOLS = 24  # offered to the assistant
DONE, FOUND = "Done.", "Here is what I found."


@dataclass(frozen=True)
class ManualCall:
    """A call with its observation; `said` is the user's text just before it, "" within a turn."""

    tool: str
    arguments: dict[str, Json]
    text: str
    said: str = ""


def example_of(id: str, world: WorldRef, calls: Sequence[ManualCall], today: str = "") -> Example:
    """Return the validated example of these calls, in the order in which they were made.

    `today` is the reference date that the first text names, as YYYY-MM-DD; "" where it names none. Raises Rejected,
    with the reason, unless a fresh world gives the same results, every value was given before by the user or by a tool,
    and these calls get the maximum reward.
    """
    turns = turns_of(calls)
    steps = tuple(
        Step((ToolCall(made.tool, made.arguments),), turn, (made.text,))
        for made, turn in zip(calls, turns, strict=True)
    )
    said = tuple(made.said for made in calls if made.said)
    example = Example(
        id=id,
        kind="chain",
        split="held_out" if world.seed >= FIRST_HELD_OUT_SEED else "train",
        world=world,
        turns=said,
        steps=steps,
        edges=tuple(sorted(set(value_edges(said, steps, today)))),
        candidates=candidates(id, calls),
        answers=tuple(answers(calls, turns)),
        digests=tuple(replay_calls(world, calls)),
        fingerprint=fingerprint(world.servers),
        today=today,
    )
    example = hidden_edges(example)
    validate(example)
    return example


def turns_of(calls: Sequence[ManualCall]) -> list[int]:
    """Return the user turn of each call. Raises Rejected for calls that no rollout could make."""
    if not calls:
        raise Rejected("No call is selected; select at least one that succeeded.")
    if not calls[0].said:
        raise Rejected(f"The first call, {calls[0].tool}, has no request; enter what the user says before it.")
    turn, turns = -1, list[int]()
    for made in calls:
        turn += bool(made.said)
        turns.append(turn)
    limits = Limits()
    if turn + 1 > limits.user_turns:
        raise Rejected(f"The user speaks {turn + 1} times; a rollout has {limits.user_turns} user turns at most.")
    if (spoken := len(calls) + turn + 1) > limits.assistant_turns:
        raise Rejected(
            f"The assistant would take {spoken} turns, {len(calls)} for calls and one to close each of the user's; "
            f"a rollout has {limits.assistant_turns} at most. Select fewer calls."
        )
    return turns


def replay_calls(where: WorldRef, calls: Sequence[ManualCall]) -> Iterator[str]:
    """Yield the digests of a fresh world, at its start and after each call. Raises Rejected where a result differs."""
    if missing := [name for name in where.servers if name not in SERVERS]:
        raise Rejected(f"The server {', '.join(missing)} no longer exists.")
    world = World.open(where.seed, where.servers, where.size)
    yield world.digest()
    for number, made in enumerate(calls, 1):
        reply = world.call(made.tool, made.arguments)
        if not reply.ok:
            raise Rejected(f"In a fresh world, {made.tool} (selected call {number}) fails: {reply.data['message']}")
        if reply.text != made.text:
            raise Rejected(
                f"In a fresh world, {made.tool} (selected call {number}) has a different result than in the session. "
                "A call that changed what it reads may not be selected."
            )
        yield world.digest()


def list_ungrounded_values(calls: Sequence[ManualCall]) -> list[list[Json]]:
    """Return for each call the values that no call before it shows; the user must say these up to that call."""
    seen, found = "", list[list[Json]]()
    for made in calls:
        found.append([value for value in single(made.arguments) if not is_grounded(value, seen)])
        seen = f"{seen} {made.text}"
    return found


def candidates(id: str, calls: Sequence[ManualCall]) -> tuple[str, ...]:
    """Return the tools offered to the assistant: those called and others of their servers."""
    called = list(dict.fromkeys(made.tool for made in calls if made.tool in TOOLS))
    near = [name for server in dict.fromkeys(TOOLS[name][0] for name in called) for name in server.tools]
    others, draw = [name for name in near if name not in called], Draw("by hand", id)
    few = draw.sample(others, min(len(others), max(0, MOST_TOOLS - len(called))))
    return tuple(draw.shuffle_items([*called, *few]))


def answers(calls: Sequence[ManualCall], turns: Sequence[int]) -> Iterator[str]:
    """Yield the assistant's text at the end of each turn."""
    last = {turn: made.tool for made, turn in zip(calls, turns, strict=True)}
    for tool in last.values():
        yield DONE if tool in TOOLS and TOOLS[tool][1].writes else FOUND
