"""What each call of a conversation changed in its world: replayed once, in a fresh world, for a page to show."""

from __future__ import annotations

from dataclasses import dataclass, field

from mcp_servers.catalogue import SERVERS, fingerprint
from mcp_servers.world import World
from prove_web.servers.tables import RowChange, changes
from training_worker.prove.trajectory import Example, Rollout


@dataclass
class Effects:
    """`changes` by call, from 0; `otherwise` are the calls that are answered otherwise now. `why` says why there is
    nothing, or nothing more, to tell."""

    changes: dict[int, tuple[RowChange, ...]] = field(default_factory=dict)
    otherwise: set[int] = field(default_factory=set)
    why: str = ""


def effects(rollout: Rollout, example: Example) -> Effects:
    """The rows that every call that reached its world added, changed or removed."""
    where, found = example.world, Effects()
    if example.source or not rollout.calls:
        return found
    if missing := [name for name in where.servers if name not in SERVERS]:
        return Effects(why=f"Missing server: {', '.join(missing)}")
    if example.fingerprint != fingerprint(where.servers):
        return Effects(why="The servers behave differently now")
    world = World.open(where.seed, where.servers, where.size)
    for position, made in enumerate(rollout.calls):
        if not made.level or made.call.arguments is None:
            continue
        before = world.fork()
        try:
            reply = world.call(made.call.name, made.call.arguments)
        except Exception as error:  # a server that breaks ends the replay, not the page
            found.why = f"{made.call.name} failed ({type(error).__name__})"
            break
        found.changes[position] = tuple(changes(before, world))
        if reply.text != made.observation:
            found.otherwise.add(position)
    return found
