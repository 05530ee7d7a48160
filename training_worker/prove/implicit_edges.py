"""Which tool must run first for another to be let do its work: implicit edges, found by differential execution.

On random walks every call that the state refused is kept, and made again in a fork after each later write. Where it is
refused just before a write and does its work just after it, though the clock alone would not have helped, that write
enables it: nobody has to list that an engine must run before one shifts gears. What was run is kept as evidence.
(Paper, section 2, step 1, where a language model tells which edges are implicit.)
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from mcp_servers.kit import Draw, Reply, Server, Session
from mcp_servers.kit.random_walk import Walker

from .edge_probe import WORLD_SEEDS, Run, laboratory, run_of
from .synthesis.sampler import NothingFits, fill

WALKS, CALLS, KEPT, FILLED = 48, 80, 25, 3
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


@dataclass(frozen=True)
class Enabled:
    """A call that is refused `before` the last write of a session and works `after` it."""

    before: Session[Any]
    after: Session[Any]
    tool: str
    arguments: str

    @property
    def names(self) -> tuple[str, str]:
        return self.after.head.tool, self.tool

    @property
    def by_the_write(self) -> bool:
        """Whether another tool did it, and not time alone."""
        alone = self.before.fork().call(self.tool, self.arguments, now=self.after.state.now)
        return self.tool != self.after.head.tool and not alone.ok


def enablings(server: Server[Any]) -> dict[tuple[str, str], Enabling]:
    """By the names of A and B, the first evidence that A enables B; both are tools of this server.

    Where the walks show nothing, what two writes in a row show counts.
    """
    found: dict[tuple[str, str], Enabling] = {}
    for number in range(WALKS):
        seed = WORLD_SEEDS[number % len(WORLD_SEEDS)]
        for one in on_a_walk(server, seed, number):
            if one.names not in found:
                found[one.names] = evidence(seed, one)
    for seed in WORLD_SEEDS:
        for one in by_two_writes(server, seed):
            if one.names not in found:
                found[one.names] = evidence(seed, one)
    return found


def on_a_walk(server: Server[Any], seed: int, number: int) -> Iterator[Enabled]:
    """What one walk shows."""
    session = server.open(seed, "small")
    walker = Walker(server.tools, [session.state], "enabling", server.name, number)
    waiting: dict[tuple[str, str], None] = {}
    for _ in range(CALLS):
        before, step = session.fork(), walker.walk(session)
        assert step.reply is not None
        if waits(step.reply):
            waiting[step.tool, step.arguments] = None
            if len(waiting) > KEPT:
                del waiting[next(iter(waiting))]
        if not (step.reply.ok and server.tools[step.tool].writes):
            continue
        for call in tuple(waiting):
            if session.fork().call(*call).ok:
                del waiting[call]
                one = Enabled(before, session.fork(), *call)
                if one.by_the_write:
                    yield one


def by_two_writes(server: Server[Any], seed: int) -> Iterator[Enabled]:
    """What is shown by a write after which a call is refused, and one after which it works again.

    The calls are those of writes that need no id: no result leads to what they take, so on a walk they seldom work.
    """
    opening, writes = server.open(seed, "small"), filled(server, seed)
    for call in [(name, arguments) for name, arguments in writes if not server.tools[name].consumes]:
        if not opening.fork().call(*call).ok:
            continue
        for stopping in writes:
            stopped = opening.fork()
            if not (stopped.call(*stopping).ok and waits(stopped.fork().call(*call))):
                continue
            for freeing in writes:
                freed = stopped.fork()
                if freed.call(*freeing).ok and freed.fork().call(*call).ok:
                    one = Enabled(stopped, freed, *call)
                    if one.by_the_write:
                        yield one


def filled(server: Server[Any], seed: int) -> list[tuple[str, str]]:
    """A few calls of each tool that writes, with arguments from what the world shows."""
    world, context = laboratory(seed, (server.name,))
    calls: dict[tuple[str, str], None] = {}
    for name, tool in server.tools.items():
        draw = Draw("enabling", seed, name)
        for _ in range(FILLED if tool.writes else 0):
            with suppress(NothingFits):
                calls[name, json.dumps(fill(tool, {}, context, draw, world), ensure_ascii=False)] = None
    return list(calls)


def waits(reply: Reply) -> bool:
    """Whether the state refused: then another call may help."""
    return not reply.ok and reply.data["error"] not in NOT_THE_STATE


def evidence(seed: int, one: Enabled) -> Enabling:
    """The runs of a write and of the call it enables, taken down once more."""
    before, after, name, arguments = one.before, one.after, one.tool, one.arguments
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
        (one.tool, json.loads(one.arguments))
        for one in before.history()[1:]
        if one.reply and one.reply.ok and tools[one.tool].writes
    )
    return Enabling(seed, earlier, given, producer, run_of(after.fork(), name, arguments), shares)
