"""Which tool must run first for another to be let do its work: implicit edges, found by differential execution.

On random walks every call that the state refused is kept, and made again in a fork after each later write. Where it is
refused just before a write and does its work just after it, though the clock alone would not have helped, that write
enables it: nobody has to list that an engine must run before one shifts gears. What was run is kept as evidence.
(Paper, section 2, step 1, where a language model tells which edges are implicit.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mcp_servers.kit import Server, Session
from mcp_servers.kit.walk import Walker

from .runs import WORLD_SEEDS, Run, run_of

WALKS, CALLS, KEPT = 48, 80, 25
NOT_THE_STATE = frozenset({"invalid_arguments", "not_found", "unknown_tool"})
"""Codes of refusals that no other tool can do anything about, or an explicit edge tells of."""


@dataclass(frozen=True)
class Enabling:
    """The runs behind an implicit edge from A to B, in the world of a seed after the `earlier` writes.

    B is refused, A does its work, B does its own. `shares` names the parameters of B that had the same id as one of A.
    """

    seed: int
    earlier: tuple[tuple[str, dict[str, Any]], ...]
    refused: Run
    producer: Run
    enabled: Run
    shares: dict[str, str]


def enablings(server: Server[Any]) -> dict[tuple[str, str], Enabling]:
    """By the names of A and B, the first evidence that A enables B; both are tools of this server."""
    found: dict[tuple[str, str], Enabling] = {}
    for number in range(WALKS):
        seed = WORLD_SEEDS[number % len(WORLD_SEEDS)]
        for names, evidence in on_a_walk(server, seed, number):
            found.setdefault(names, evidence)
    return found


def on_a_walk(server: Server[Any], seed: int, number: int) -> Iterator[tuple[tuple[str, str], Enabling]]:
    """What one walk shows."""
    session = server.open(seed, "small")
    walker = Walker(server.tools, [session.state], "enabling", server.name, number)
    waiting: dict[tuple[str, str], None] = {}
    for _ in range(CALLS):
        before, step = session.fork(), walker.walk(session)
        assert step.reply is not None
        if not step.reply.ok:
            if step.reply.data["error"] not in NOT_THE_STATE:
                waiting[step.tool, step.arguments] = None
                if len(waiting) > KEPT:
                    del waiting[next(iter(waiting))]
        elif server.tools[step.tool].writes:
            for name, arguments in tuple(waiting):
                enabled = run_of(session.fork(), name, arguments)
                if not enabled.ok:
                    continue
                del waiting[name, arguments]
                alone = before.fork().call(name, arguments, now=session.state.now)
                if name != step.tool and not alone.ok:
                    yield (step.tool, name), evidence(seed, before, session, name, arguments)


def evidence(seed: int, before: Session[Any], after: Session[Any], name: str, arguments: str) -> Enabling:
    """The runs of a write, the last of `after`, and of the call it enables, taken down once more."""
    tools, step = before.server.tools, after.head
    producer = run_of(before.fork(), step.tool, step.arguments)
    ids, own = tools[step.tool].ids, tools[name].ids
    given = run_of(before.fork(), name, arguments)
    shares = {
        parameter: other
        for parameter, value in given.arguments.items()
        for other, same in producer.arguments.items()
        if parameter in own and own[parameter] == ids.get(other) and value == same
    }
    earlier = tuple(
        (one.tool, Run.of(one).arguments)
        for one in before.history()[1:]
        if one.reply and one.reply.ok and tools[one.tool].writes
    )
    return Enabling(seed, earlier, given, producer, run_of(after.fork(), name, arguments), shares)
