"""Implicit dependency edges, found by differential execution: tool A must run before tool B succeeds.

On random walks every call that failed because of the state is recorded, and repeated in a fork after each later write.
If it fails just before a write and succeeds just after it, and the passing of time alone does not explain this, the
write enables the call: nobody has to list that an engine must run before the driver shifts gears. The runs are stored
as evidence. (Paper, section 2, step 1, where a language model decides which edges are implicit.)
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from mcp_servers.core import Draw, Reply, Server, Session
from mcp_servers.core.random_walk import Walker

from .edge_probe import WORLD_SEEDS, Run, laboratory, run_of
from .sampler import NothingFits, fill

WALKS, CALLS, PENDING, FILLED = 48, 80, 25, 3
NOT_THE_STATE = frozenset({"invalid_arguments", "not_found", "unknown_tool"})
"""Error codes that no other tool can resolve, or that an explicit edge already covers."""


@dataclass(frozen=True)
class ImplicitEdgeProof:
    """The runs that prove an implicit edge from A to B, in the world of a seed after the `earlier` writes.

    B fails, A succeeds, B succeeds. `shares` maps parameters of B to the parameters of A that had the same id.
    """

    seed: int
    earlier: tuple[tuple[str, dict[str, Any]], ...]
    refused: Run
    producer: Run
    enabled: Run
    shares: dict[str, str]


@dataclass(frozen=True)
class EnabledCall:
    """A call that fails `before` the last write of a session and succeeds `after` it."""

    before: Session[Any]
    after: Session[Any]
    tool: str
    arguments: str

    @property
    def names(self) -> tuple[str, str]:
        return self.after.head.tool, self.tool

    @property
    def by_the_write(self) -> bool:
        """Return whether another tool enabled the call, and not the passing of time alone."""
        alone = self.before.fork().call(self.tool, self.arguments, now=self.after.state.now)
        return self.tool != self.after.head.tool and not alone.ok


def enablings(server: Server[Any]) -> dict[tuple[str, str], ImplicitEdgeProof]:
    """Return the first evidence that A enables B, by their names; both are tools of this server.

    Pairs that the random walks do not find are searched with two writes in a row.
    """
    found: dict[tuple[str, str], ImplicitEdgeProof] = {}
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


def on_a_walk(server: Server[Any], seed: int, number: int) -> Iterator[EnabledCall]:
    """Yield the enabled calls that one random walk finds."""
    session = server.open(seed, "small")
    walker = Walker(server.tools, [session.state], "enabling", server.name, number)
    waiting: dict[tuple[str, str], None] = {}
    for _ in range(CALLS):
        before, step = session.fork(), walker.walk(session)
        assert step.reply is not None
        if waits(step.reply):
            waiting[step.tool, step.arguments] = None
            if len(waiting) > PENDING:
                del waiting[next(iter(waiting))]
        if not (step.reply.ok and server.tools[step.tool].writes):
            continue
        for call in tuple(waiting):
            if session.fork().call(*call).ok:
                del waiting[call]
                one = EnabledCall(before, session.fork(), *call)
                if one.by_the_write:
                    yield one


def by_two_writes(server: Server[Any], seed: int) -> Iterator[EnabledCall]:
    """Yield the calls that fail after one write and succeed again after a second one.

    Only writes without id parameters are tried: no result provides their values, so they seldom succeed on a walk.
    """
    opening, writes = server.open(seed, "small"), generate_write_calls(server, seed)
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
                    one = EnabledCall(stopped, freed, *call)
                    if one.by_the_write:
                        yield one


def generate_write_calls(server: Server[Any], seed: int) -> list[tuple[str, str]]:
    """Return a few calls of each writing tool, with arguments from the values the world shows."""
    world, context = laboratory(seed, (server.name,))
    calls: dict[tuple[str, str], None] = {}
    for name, tool in server.tools.items():
        draw = Draw("enabling", seed, name)
        for _ in range(FILLED if tool.writes else 0):
            with suppress(NothingFits):
                calls[name, json.dumps(fill(tool, {}, context, draw, world), ensure_ascii=False)] = None
    return list(calls)


def waits(reply: Reply) -> bool:
    """Return whether a call failed because of the state, so that another call may enable it."""
    return not reply.ok and reply.data["error"] not in NOT_THE_STATE


def evidence(seed: int, one: EnabledCall) -> ImplicitEdgeProof:
    """Run and record a write and the call it enables."""
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
    return ImplicitEdgeProof(seed, earlier, given, producer, run_of(after.fork(), name, arguments), shares)
