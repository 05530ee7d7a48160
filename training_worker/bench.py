"""How fast the parts are, each beside a baseline measured in the same run: `make bench`.

Medians over alternating rounds, and ratios; single absolute times depend on the machine and are not the point.
"""

from __future__ import annotations

import asyncio
import platform
import statistics
import time
from collections.abc import Callable
from copy import deepcopy

from mcp import Client
from rich.console import Console
from rich.table import Table

from mcp_servers.catalogue import SERVERS
from mcp_servers.kit.wire import wire
from mcp_servers.world import World

from .prove.reward import score
from .prove.trajectory import ExecutedCall, Step, ToolCall

ROUNDS = 7
TOOL, ARGUMENTS = "list_accounts", "{}"


def seconds(work: Callable[[], object], times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - start) / times


def medians(ours: Callable[[], object], theirs: Callable[[], object], times: int) -> tuple[float, float]:
    """Median seconds of one run of each, measured in turns."""
    rounds = [(seconds(ours, times), seconds(theirs, times)) for _ in range(ROUNDS)]
    return statistics.median(one for one, _ in rounds), statistics.median(other for _, other in rounds)


def direct_against_mcp() -> tuple[float, float]:
    """One read call: dispatched directly, and through the official SDK's in-memory client."""
    session = SERVERS["banking"].open(7, "default")

    async def through_mcp(times: int) -> float:
        async with Client(wire(SERVERS["banking"], 7, "default")) as client:
            start = time.perf_counter()
            for _ in range(times):
                await client.call_tool(TOOL, {})
            return (time.perf_counter() - start) / times

    direct = [seconds(lambda: session.fork().call(TOOL, ARGUMENTS), 2_000) for _ in range(ROUNDS)]
    mcp = [asyncio.run(through_mcp(200)) for _ in range(ROUNDS)]
    return statistics.median(direct), statistics.median(mcp)


def fork_against_deepcopy(size: str) -> tuple[float, float]:
    session = SERVERS["banking"].open(7, size)
    rows = {name: list(table) for name, table in session.state.tables().items()}
    times = {"small": 200, "default": 50, "large": 2}[size]
    fork = statistics.median(seconds(session.fork, 5_000) for _ in range(ROUNDS))
    return fork, statistics.median(seconds(lambda: deepcopy(rows), times) for _ in range(ROUNDS))


def digest_against_full(size: str) -> tuple[float, float]:
    session = SERVERS["banking"].open(7, size)
    times = {"small": 50, "default": 10, "large": 1}[size]
    quick = statistics.median(seconds(session.digest, 2_000) for _ in range(ROUNDS))
    return quick, statistics.median(seconds(session.state.full_digest, times) for _ in range(ROUNDS))


def open_against_build() -> tuple[float, float]:
    """A session of all servers in a world that is known, and in one that has to be built."""
    World.open(7, tuple(SERVERS), "default")
    return medians(
        lambda: World.open(7, tuple(SERVERS), "default"),
        lambda: [server._opening(8, "default") for server in SERVERS.values()],
        20,
    )


def scoring() -> tuple[float, float]:
    """The reward of a 4-call rollout, and of one with 200 calls too many."""
    steps = tuple(Step((ToolCall("pay", {"to": f"PAY-{i}", "cents": i}),)) for i in range(4))
    edges = ((0, 1), (1, 2), (2, 3))
    calls = [ExecutedCall(step.calls[0], 3) for step in steps]
    return medians(lambda: score(steps, edges, calls), lambda: score(steps, edges, calls + calls[:1] * 200), 50)


def main() -> None:
    table = Table("what", "ours", "baseline", "ratio", title=f"Python {platform.python_version()}, medians of {ROUNDS}")
    rows: list[tuple[str, str, tuple[float, float]]] = [
        ("one read call, direct", "through the MCP SDK in memory", direct_against_mcp()),
        ("open a session of all servers", "build the world anew", open_against_build()),
        ("reward of 4 calls", "reward of 204 calls", scoring()),
    ]
    for size in ("small", "default", "large"):
        rows.append((f"fork, {size} world", "deepcopy of its rows", fork_against_deepcopy(size)))
        rows.append((f"digest, {size} world", "computed from all rows", digest_against_full(size)))
    for what, baseline, (ours, theirs) in rows:
        table.add_row(what, f"{ours * 1e6:,.1f} us", f"{theirs * 1e6:,.1f} us  {baseline}", f"{theirs / ours:,.0f}x")
    Console().print(table)


if __name__ == "__main__":
    main()
