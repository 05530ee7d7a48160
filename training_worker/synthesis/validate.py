"""Replay validation: a conversation is kept only when a fresh world gives the same results, byte for byte.

Only schema and execution errors count; an empty result is not an error (paper, section 2, step 5). Beyond the paper,
the replies and digests must be equal, every argument value must have been given before by the user or by a tool, and
the oracle must get the maximum reward.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from mcp_servers.catalogue import SERVERS, fingerprint
from mcp_servers.world import World

from ..core.trajectory import Example, Step, ToolCall
from ..dataflow.provenance import single
from ..dataflow.resolver import list_unresolved_values
from ..dataflow.speech import find_said
from ..dataflow.templates import long_day
from ..environment.episode import oracle, stale
from .alternatives import find_faults

MOST_ERRORS = 0.3
LARGEST = {False: 1.3, True: 1.0}


class Rejected(Exception):
    """An invalid conversation; the message says what failed."""


def validate(example: Example) -> None:
    """Raise Rejected unless the example was made with servers that behave as the present ones, and is valid on them."""
    if example.fingerprint != fingerprint(example.world.servers):
        raise Rejected(f"{example.id}: {stale(example)}")
    require_valid(example)


def require_valid(example: Example) -> None:
    """Raise Rejected for an invalid example.

    A valid one replays, its alternatives show the values taken from its look-ups, all its values have a source and its
    oracle gets the maximum reward.
    """
    replay(example)
    if fault := next(find_faults(example), ""):
        raise Rejected(f"{example.id}: {fault}.")
    provenance(example)
    reward = oracle(example).reward
    if reward is None or abs(reward.total - LARGEST[example.abstains]) > 1e-9:
        raise Rejected(f"{example.id}: the oracle scores {reward and reward.total}, not {LARGEST[example.abstains]}.")


def replay(example: Example) -> None:
    """Run the ground truth in a fresh world and compare every reply and digest. Raises Rejected."""
    if gone := [name for name in example.world.servers if name not in SERVERS]:
        raise Rejected(f"{example.id}: the server {gone[0]} no longer exists.")
    world = World.open(example.world.seed, example.world.servers, example.world.size)
    calls, errors = 0, len(example.failures)
    if world.digest() != example.digests[0]:
        raise Rejected(f"{example.id}: the world of seed {example.world.seed} has changed.")
    if example.today and f"{world.now:%Y-%m-%d}" != example.today:
        raise Rejected(f"{example.id}: its world's date is not {example.today}, as the user says.")
    fail_again(example, world, 0)
    for position, step in enumerate(example.steps):
        for call, text in zip(step.calls, step.observations, strict=True):
            reply = world.call(call.name, call.arguments or {})
            calls, errors = calls + 1, errors + (not reply.ok)
            if reply.text != text:
                raise Rejected(f"{example.id}: {call.name} in step {position} has a different result in a replay.")
        if world.digest() != example.digests[position + 1]:
            raise Rejected(f"{example.id}: after step {position} the replayed world differs.")
        fail_again(example, world, position + 1)
    calls += len(example.failures)
    if calls and errors / calls > MOST_ERRORS:
        raise Rejected(f"{example.id}: {errors} of {calls} calls fail.")


def fail_again(example: Example, world: World, position: int) -> None:
    """Raise Rejected unless the failures just before a step, or after the last one, fail with the same message."""
    for failure in example.failures:
        if failure.step == position:
            reply = world.call(failure.call.name, failure.call.arguments or {})
            if reply.ok or reply.text != failure.observation:
                raise Rejected(f"{example.id}: {failure.call.name} does not fail before step {position} as it did.")


def provenance(example: Example) -> None:
    """Raise Rejected for a value, PINs and passwords included, that neither the user nor a tool gave before."""
    if example.today and long_day(date.fromisoformat(example.today)) not in example.turns[0]:
        raise Rejected(f"{example.id}: nobody says that it is {example.today}.")
    if example.acts:  # only for planned texts: those that people wrote need not identify entities
        derivable(example)
        return
    observed = [" ".join(text for step in example.steps[:end] for text in step.observations) for end in places(example)]
    made = [(position, step.turn, call) for position, step in enumerate(example.steps) for call in step.calls]
    for position, turn, call in [*made, *((one.step, one.turn, one.call) for one in example.failures)]:
        said = " ".join((*example.turns[: turn + 1], observed[position]))
        for name, value in (call.arguments or {}).items():
            if not all(find_said(call.name, name, one, said, example.today) for one in single(value)):
                raise Rejected(f"{example.id}: {call.name} uses a {name} that nobody gave.")


def derivable(example: Example) -> None:
    """Raise Rejected unless the resolver finds the origin of every value, including those of failed calls."""
    if faults := list_unresolved_values(example):
        raise Rejected(f"{example.id}: {faults[0]}")
    for failure in example.failures:
        made = Step((failure.call,), failure.turn, (failure.observation,))
        probe = replace(example, steps=(*example.steps[: failure.step], made), failures=())
        if faults := [one for one in list_unresolved_values(probe) if one.startswith(f"step {failure.step},")]:
            raise Rejected(f"{example.id}: before {faults[0]}")


def places(example: Example) -> range:
    """Return the positions of failed calls: before each step, and after the last."""
    return range(len(example.steps) + 1)


def hidden_edges(example: Example) -> Example:
    """Return the example with the edges that execution adds: without a step, a later one is refused."""
    edges = set(example.edges)
    for left_out in range(len(example.steps) - 1):
        world = World.open(example.world.seed, example.world.servers, example.world.size)
        for position, step in enumerate(example.steps):
            if position != left_out and not all(succeeds(world, call) for call in step.calls) and position > left_out:
                edges.add((left_out, position))
    return replace(example, edges=tuple(sorted(edges)))


def succeeds(world: World, call: ToolCall) -> bool:
    return world.call(call.name, call.arguments or {}).ok
