"""State differences caused by a conversation's calls: the changed servers and their changes, up to renaming of new ids.

The writes are replayed in the example's world with a stopped clock. A committed write advances the clock, so otherwise
every time stamp, and every time limit derived from one, would depend on the number of earlier writes. Failed and
read-only calls are not replayed, because they leave no trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from mcp_servers.catalogue import SERVERS, TOOLS
from mcp_servers.core import Session, State
from mcp_servers.world import World

from ..core.trajectory import Example, ExecutedCall, ToolCall, UnreadableData, WorldRef
from .id_isomorphism import collect_new_ids, signature
from .validity import LEVELS

TRUTH_CACHE_SIZE = 4096
States = dict[str, State]


@dataclass(frozen=True)
class Outcome:
    """The signature of the changes by changed server, and all created ids."""

    signatures: dict[str, str]
    created: frozenset[str]


@dataclass(frozen=True)
class Truth:
    """The outcome of an example's ground truth. `called` are the servers of its calls.

    `still` is the outcome with a stopped clock; None if a write fails unless time passes.
    """

    called: frozenset[str]
    still: Outcome | None
    example: Example

    @cached_property
    def ticking(self) -> Outcome:
        """Return the outcome with a moving clock, as in the conversation."""
        return outcome(self.example.world, [call for step in self.example.steps for call in step.calls], ticking=True)


class Unreplayable(UnreadableData):
    """An accepted write that fails on replay, because of the stopped clock or of other server code."""


def truth_of(example: Example) -> Truth:
    """Return the outcome of an example's ground truth, cached because all rollouts of a group need the same one."""
    return _truth(ExampleKey(example))


class ExampleKey:
    """A cache key for an example: its digests identify the world and the calls, its texts the conversation."""

    def __init__(self, example: Example):
        self.example = example
        self.key = (example.id, example.fingerprint, example.digests, example.turns, example.answers)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExampleKey) and self.key == other.key


@lru_cache(maxsize=TRUTH_CACHE_SIZE)
def _truth(key: ExampleKey) -> Truth:
    example = key.example
    calls = [call for step in example.steps for call in step.calls]
    called = frozenset(TOOLS[call.name][0].name for call in calls)
    try:
        still = outcome(example.world, calls)
    except Unreplayable:
        still = None
    return Truth(called, still, example)


def forget_truths() -> None:
    """Clear the cache, as in a new process; used by benchmarks."""
    _truth.cache_clear()


def list_successful_calls(calls: Iterable[ExecutedCall]) -> list[ToolCall]:
    """Return the calls that succeeded."""
    return [made.call for made in calls if made.level == LEVELS]


def outcome(where: WorldRef, calls: Sequence[ToolCall], *, ticking: bool = False) -> Outcome:
    """Replay the writes among these calls and return their outcome. Raises Unreplayable if one fails."""
    states = run_ticking(where, calls) if ticking else run_still(where, calls)
    changed = {
        name: (state, changes)
        for name, state in states.items()
        if (changes := state.changes_since(get_initial_state(where, name)))
    }
    ids = {name: collect_new_ids(changes) for name, (_, changes) in changed.items()}
    everything = frozenset[str]().union(*ids.values())
    return Outcome(
        {
            name: signature(state.tables(), changes, everything - ids[name])
            for name, (state, changes) in changed.items()
        },
        everything,
    )


def get_initial_state(where: WorldRef, server: str) -> Any:
    return SERVERS[server].open(where.seed, where.size).state


def run_still(where: WorldRef, calls: Iterable[ToolCall]) -> States:
    """Return the states of the written servers after the writes, each executed at the world's initial time."""
    states: States = {}
    for call in calls:
        server, tool = TOOLS[call.name]
        if tool.writes:
            before = states.get(server.name) or get_initial_state(where, server.name)
            session: Session[Any] = Session.start(server, before)
            if not session.call(call.name, call.arguments or {}).ok:
                raise Unreplayable(refusal(call))
            states[server.name] = session.state.draft(now=before.now)
    return states


def run_ticking(where: WorldRef, calls: Iterable[ToolCall]) -> States:
    """Return the states after the writes, each of which advances the clock as in the conversation."""
    world = World.open(where.seed, where.servers, where.size)
    for call in calls:
        if TOOLS[call.name][1].writes and not world.call(call.name, call.arguments or {}).ok:
            raise Unreplayable(refusal(call))
    return {name: session.state for name, session in world.sessions.items()}


def refusal(call: ToolCall) -> str:
    return f"{call.name} was accepted in a rollout and fails on replay: the rollout was made with other server code."
