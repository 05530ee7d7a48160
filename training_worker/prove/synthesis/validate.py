"""Replay validation: a conversation is kept only when a fresh world says the same again, byte for byte.

Only schema and execution errors count, an empty result is none (paper, section 2, step 5). On top of the paper: the
replies and digests must be equal, a sensitive value must have been given, and the oracle must score the largest reward
there is.
"""

from __future__ import annotations

from dataclasses import replace

from mcp_servers.catalogue import TOOLS, fingerprint
from mcp_servers.world import World

from ..rollout import oracle
from ..trajectory import Example, ToolCall
from .language import says

MOST_ERRORS = 0.3
LARGEST = {False: 1.3, True: 1.0}


class Rejected(Exception):
    """A conversation that does not hold; the message says what failed."""


def validate(example: Example) -> None:
    """Raise Rejected unless the example replays, its sensitive values have a provenance and its oracle is perfect."""
    if example.fingerprint != fingerprint(example.world.servers):
        raise Rejected(f"{example.id} was made with other server code; synthesize the data set again.")
    replay(example)
    provenance(example)
    reward = oracle(example).reward
    if reward is None or abs(reward.total - LARGEST[example.abstains]) > 1e-9:
        raise Rejected(f"{example.id}: the oracle scores {reward and reward.total}, not {LARGEST[example.abstains]}.")


def replay(example: Example) -> None:
    """Run the ground truth in a fresh world and compare every reply and digest."""
    world = World.open(example.world.seed, example.world.servers, example.world.size)
    calls = errors = 0
    if world.digest() != example.digests[0]:
        raise Rejected(f"{example.id}: the world of seed {example.world.seed} is another one now.")
    for position, step in enumerate(example.steps):
        for call, text in zip(step.calls, step.observations, strict=True):
            reply = world.call(call.name, call.arguments or {})
            calls, errors = calls + 1, errors + (not reply.ok)
            if reply.text != text:
                raise Rejected(f"{example.id}: {call.name} in step {position} answers something else in a replay.")
        if world.digest() != example.digests[position + 1]:
            raise Rejected(f"{example.id}: after step {position} the replayed world differs.")
    if calls and errors / calls > MOST_ERRORS:
        raise Rejected(f"{example.id}: {errors} of {calls} calls fail.")


def provenance(example: Example) -> None:
    """A PIN, password or token may be used only if the user or a tool said it before."""
    said = ""
    for step in example.steps:
        said += " ".join(("", *example.turns[: step.turn + 1], ""))
        for call in step.calls:
            for name in TOOLS[call.name][1].sensitive & set(call.arguments or {}):
                if not says(said, str((call.arguments or {})[name])):
                    raise Rejected(f"{example.id}: {call.name} uses a {name} that nobody gave.")
        said += " ".join(step.observations)


def hidden_edges(example: Example) -> Example:
    """The example with the edges that execution shows besides: leave out a step, and a later one is refused."""
    edges = set(example.edges)
    for left_out in range(len(example.steps) - 1):
        world = World.open(example.world.seed, example.world.servers, example.world.size)
        for position, step in enumerate(example.steps):
            if position != left_out and not all(succeeds(world, call) for call in step.calls) and position > left_out:
                edges.add((left_out, position))
    return replace(example, edges=tuple(sorted(edges)))


def succeeds(world: World, call: ToolCall) -> bool:
    return world.call(call.name, call.arguments or {}).ok
