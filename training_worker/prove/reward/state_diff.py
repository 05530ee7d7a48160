"""What a conversation's calls made of the world: the servers they changed, and how, up to the names of new ids.

The writes are made once more in the example's world, with the clock standing still: a committed write moves the clock,
so that otherwise each time stamp, and each time limit derived from one, would tell how many writes came before it. What
was refused or only looked is not made again; neither leaves a trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from mcp_servers.catalogue import SERVERS, TOOLS
from mcp_servers.kit import Session, State
from mcp_servers.world import World

from ..trajectory import Example, ExecutedCall, ToolCall, UnreadableData, WorldRef
from .id_isomorphism import created, signature
from .validity import LEVELS

TRUTHS_KEPT = 4096
States = dict[str, State]


@dataclass(frozen=True)
class Outcome:
    """By server whose rows differ from the opening's, the signature of the changes; and all ids made on the way."""

    signatures: dict[str, str]
    created: frozenset[str]


@dataclass(frozen=True)
class Truth:
    """What the ground truth of an example comes to. `called` are the servers that its calls go to.

    `still` is None where a write is refused unless time passes.
    """

    called: frozenset[str]
    still: Outcome | None
    example: Example

    @cached_property
    def ticking(self) -> Outcome:
        """The outcome with the clock as it was in the conversation."""
        return outcome(self.example.world, [call for step in self.example.steps for call in step.calls], ticking=True)


class Unreplayable(UnreadableData):
    """A write that was accepted is refused when it is made again: by the clock that stands still, or by other code."""


def truth_of(example: Example) -> Truth:
    """Kept for as many examples as are asked about at once, and more: a group asks about one."""
    return _truth(ExampleKey(example))


class ExampleKey:
    """An example, for a cache: its digests say what its world and its calls come to, its texts what is told of it."""

    def __init__(self, example: Example):
        self.example = example
        self.key = (example.id, example.fingerprint, example.digests, example.turns, example.answers)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExampleKey) and self.key == other.key


@lru_cache(maxsize=TRUTHS_KEPT)
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
    """As in a new process: for measurements."""
    _truth.cache_clear()


def succeeded(calls: Iterable[ExecutedCall]) -> list[ToolCall]:
    """The calls that a server accepted."""
    return [made.call for made in calls if made.level == LEVELS]


def outcome(where: WorldRef, calls: Sequence[ToolCall], *, ticking: bool = False) -> Outcome:
    """Make the writes among these calls again. Raises Unreplayable when one is refused."""
    states = run_ticking(where, calls) if ticking else run_still(where, calls)
    changed = {
        name: (state, changes)
        for name, state in states.items()
        if (changes := state.changes_since(opening(where, name)))
    }
    ids = {name: created(changes) for name, (_, changes) in changed.items()}
    everything = frozenset[str]().union(*ids.values())
    return Outcome(
        {
            name: signature(state.tables(), changes, everything - ids[name])
            for name, (state, changes) in changed.items()
        },
        everything,
    )


def opening(where: WorldRef, server: str) -> Any:
    return SERVERS[server].open(where.seed, where.size).state


def run_still(where: WorldRef, calls: Iterable[ToolCall]) -> States:
    """The states after the writes among these calls, each made at the time the world began; only servers written on."""
    states: States = {}
    for call in calls:
        server, tool = TOOLS[call.name]
        if tool.writes:
            before = states.get(server.name) or opening(where, server.name)
            session: Session[Any] = Session.start(server, before)
            if not session.call(call.name, call.arguments or {}).ok:
                raise Unreplayable(refusal(call))
            states[server.name] = session.state.draft(now=before.now)
    return states


def run_ticking(where: WorldRef, calls: Iterable[ToolCall]) -> States:
    """The states after the writes among these calls, each moving the clock on as it did in the conversation."""
    world = World.open(where.seed, where.servers, where.size)
    for call in calls:
        if TOOLS[call.name][1].writes and not world.call(call.name, call.arguments or {}).ok:
            raise Unreplayable(refusal(call))
    return {name: session.state for name, session in world.sessions.items()}


def refusal(call: ToolCall) -> str:
    return f"{call.name} was accepted in a rollout and is refused when it is made again: other server code made it."
