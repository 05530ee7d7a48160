"""Server benchmarks: calls of every tool, opening, forking, digests at every size of world, and many sessions."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from mcp_servers.catalogue import SERVERS
from mcp_servers.core import Session
from mcp_servers.core.random_walk import Walker
from mcp_servers.world import World

SEED, TIMES = 7, 200
WALKS, SHORT, LONG = 120, 30, 120  # walks per server; calls of a short walk, as in a conversation, and of a long one
ALL = tuple(SERVERS)
Found = tuple[Session[Any], str, str]  # a session, and the name and the arguments of a call that succeeds in it


def seconds(work: Callable[[], object], times: int) -> float:
    """Return the mean seconds of one run."""
    start = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - start) / times


@cache
def working_calls(server: str, size: str = "default") -> dict[str, Found]:
    """Return, by tool, the first call of it that succeeds on random walks."""
    found: dict[str, Found] = {}
    tools = SERVERS[server].tools
    for number in range(WALKS):
        if len(found) == len(tools):
            break
        session = SERVERS[server].open(SEED + number // 20, size)
        walker = Walker(tools, [session.state], "bench", server, number)
        for _ in range(SHORT if number < WALKS / 2 else LONG):
            before, step = session.fork(), walker.walk(session)
            if step.reply and step.reply.ok:
                found.setdefault(step.tool, (before, step.tool, step.arguments))
    return found


def calls_by_tool(size: str = "default") -> dict[str, float]:
    """Return, by tool, the seconds of one call on a world of this size; each call has its own fork."""
    return {
        name: seconds(partial(call_in_fork, *found), TIMES)
        for server in SERVERS
        for name, found in working_calls(server, size).items()
    }


def call_in_fork(session: Session[Any], name: str, arguments: str) -> None:
    session.fork().call(name, arguments)


def open_all() -> float:
    World.open(SEED, ALL, "default")
    return statistics.median(seconds(lambda: World.open(SEED, ALL, "default"), 500) for _ in range(7))


def by_size(size: str) -> tuple[int, float, float]:
    """Return the rows of a world of all servers, and the median seconds of a fork and of a digest after a write."""
    rows, forks, digests = 0, [], []
    for server in SERVERS.values():
        session = server.open(SEED, size)
        rows += sum(1 for table in session.state.tables().values() for _ in table)
        forks.append(seconds(session.fork, 5_000))
        writes = [found for name, found in working_calls(server.name, size).items() if server.tools[name].writes]
        digests.append(digest_after_a_write(*writes[0]))
    return rows, statistics.median(forks), statistics.median(digests)


def digest_after_a_write(session: Session[Any], name: str, arguments: str) -> float:
    spent = 0.0
    for _ in range(TIMES):
        fork = session.fork()
        fork.call(name, arguments)
        start = time.perf_counter()
        fork.digest()
        spent += time.perf_counter() - start
    return spent / TIMES


def many_sessions(count: int = 10_000, calls: int = 10) -> float:
    """Return the megabytes that `count` worlds of all servers take, each after `calls` calls, above what they share."""
    pool = [found[1:] for server in SERVERS for found in working_calls(server).values()]
    World.open(SEED, ALL, "default")
    gc.collect()
    before, alive = resident(), []
    for number in range(count):
        world = World.open(SEED, ALL, "default")
        for place in range(calls):
            world.call(*pool[(number * calls + place) % len(pool)])
        alive.append(world)
    gc.collect()
    return (resident() - before) / 1e6


def resident() -> int:
    """Return the bytes of memory that this process holds."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
