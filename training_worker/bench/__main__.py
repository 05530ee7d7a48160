"""The benchmark command: medians over alternating rounds, and ratios; single absolute times depend on the machine.

make bench                                       against our own baselines
make bench ARGS="--bfcl --tau2 ../tau2-bench"    and against BFCL (from PyPI) and a checkout of tau2-bench
make bench ARGS="--verifiers"                    and against verifiers (from PyPI)
make bench ARGS="--step"                         and the parts of a training step on this CPU
make bench ARGS="--write"                        and write the tables into docs/benchmarks.md
"""

from __future__ import annotations

import asyncio
import platform
import statistics
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from mcp import Client
from rich.console import Console
from rich.table import Table

from mcp_servers.catalogue import SERVERS, TOOLS
from mcp_servers.mcp.adapter import wire
from mcp_servers.world import World

from ..core.benchmark_page import markdown, write_block
from ..core.trajectory import ExecutedCall, Step, ToolCall
from ..evaluation.environment import SetUpFailed
from ..reward import score
from . import pages, peers, picture, reward_replay, rollouts, servers, sockets, step, store, synthesis
from .servers import seconds

ROUNDS = 7
TOOL, ARGUMENTS = "list_accounts", "{}"


def medians(ours: Callable[[], object], theirs: Callable[[], object], times: int) -> tuple[float, float]:
    """Return the median seconds of one run of each, measured in turns."""
    rounds = [(seconds(ours, times), seconds(theirs, times)) for _ in range(ROUNDS)]
    return statistics.median(one for one, _ in rounds), statistics.median(other for _, other in rounds)


def direct_against_mcp() -> tuple[float, float]:
    """Measure one read call: dispatched directly, and through the official SDK's in-memory client."""
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


def open_against_build() -> tuple[float, float]:
    """Measure opening a session of all servers in a known world, and in one that has to be built."""
    World.open(7, tuple(SERVERS), "default")
    return medians(
        lambda: World.open(7, tuple(SERVERS), "default"),
        lambda: [server._opening(8, "default") for server in SERVERS.values()],
        20,
    )


def measure_reward() -> tuple[float, float]:
    """Measure the reward of a 4-call rollout, and of one with 200 excess calls."""
    steps = tuple(Step((ToolCall("pay", {"to": f"PAY-{i}", "cents": i}),)) for i in range(4))
    edges = ((0, 1), (1, 2), (2, 3))
    calls = [ExecutedCall(step.calls[0], 3) for step in steps]
    return medians(lambda: score(steps, edges, calls), lambda: score(steps, edges, calls + calls[:1] * 200), 50)


def main(argv: list[str] | None = None) -> int:
    """Measure and print; return 1 if a requested peer could not be measured."""
    parser = ArgumentParser("make bench", description="Measure the speed of single parts.")
    parser.add_argument("--bfcl", action="store_true", help="also measure BFCL, in its own environment")
    parser.add_argument("--tau2", type=Path, metavar="CHECKOUT", help="also measure this checkout of tau2-bench")
    parser.add_argument("--verifiers", action="store_true", help="also measure verifiers, in its own environment")
    parser.add_argument("--step", action="store_true", help="also measure a few steps of GRPO; needs torch")
    parser.add_argument("--folder", type=Path, default=Path("data/bench"), help="folder of the peers' environments")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/benchmarks.md")
    options = parser.parse_args(argv)
    console = Console()
    own = [show(console, table) for table in own_tables(options.folder, options.step)]
    if options.write:
        write_block("bench", "\n\n".join(own))
    try:
        peers = [
            show(console, table)
            for table in against_peers(options.folder, options.bfcl, options.tau2, options.verifiers)
        ]
    except SetUpFailed as error:
        console.print(str(error), style="red")
        return 1
    if options.write and peers:
        write_block("peers", "\n\n".join(peers))
    return 0


def own_tables(folder: Path, with_step: bool) -> Iterator[Table | str]:
    """Measure our parts; yield each table as soon as it is ready, or why something was not measured."""
    graph = folder / "graph"
    for table in (against_baselines, servers_table, by_size):
        yield table()
    for table_of in (synthesis_table, rollouts_table, store_table, rescoring_table, picture_table):
        yield table_of(graph)
    for table_or_reason in (pages_table, by_hand_table, sockets_table):
        yield table_or_reason()
    if with_step:
        yield step_table(folder)


def show(console: Console, table: Table | str) -> str:
    """Print a table; return it as Markdown."""
    console.print(table)
    return markdown(table) if isinstance(table, Table) else table


def against_baselines() -> Table:
    title = f"Python {platform.python_version()}, medians of {ROUNDS}"
    table = Table("what", "ours", "baseline", "ratio", title=title)
    for what, baseline, (ours, theirs) in [
        ("one read call, direct", "through the MCP SDK in memory", direct_against_mcp()),
        ("open a session of all servers", "build the world again", open_against_build()),
        ("reward of 4 calls", "reward of 204 calls", measure_reward()),
    ]:
        table.add_row(what, micro(ours), f"{micro(theirs)}  {baseline}", f"{theirs / ours:,.0f}x")
    return table


def servers_table() -> Table:
    """Measure the calls of every tool, on default worlds, each in a fresh fork."""
    times = servers.calls_by_tool()
    table = Table("what", "ours", title=f"{len(times)} of {len(TOOLS)} tools called, default worlds")
    slowest = max(times, key=times.__getitem__)
    table.add_row("one call, median over the tools", micro(statistics.median(times.values())))
    table.add_row("one call, the slowest tool", f"{micro(times[slowest])}  {slowest}")
    table.add_row("10,000 sessions of all servers, 10 calls each", f"{servers.many_sessions():,.0f} MB")
    return table


def by_size() -> Table:
    """Measure what a larger world costs: nothing for a fork or a digest, and for a call less than its size."""
    title = "fork and digest: medians over the servers; calls: over the tools, compared with the default size"
    table = Table(
        "size", "rows in all", "fork", "digest after a write", "one call", "largest ratio to default", title=title
    )
    usual = servers.calls_by_tool("default")
    for size in ("small", "default", "large"):
        rows, fork, digest = servers.by_size(size)
        calls = servers.calls_by_tool(size)
        median = statistics.median(calls[name] for name in calls)
        most = max(calls.keys() & usual.keys(), key=lambda name: calls[name] / usual[name])
        growth = f"{calls[most] / usual[most]:,.1f}x  {most}"
        table.add_row(size, f"{rows:,}", micro(fork), micro(digest), micro(median), growth)
    return table


def synthesis_table(graph: Path) -> Table:
    """Measure how many conversations of a dataset one process makes per second, replay included."""
    title = f"{synthesis.CONVERSATIONS} conversations of the recipe 1k, median over rounds of {synthesis.ROUND}"
    table = Table("what", "ours", title=title)
    table.add_row("conversations a second and core", f"{synthesis.per_second(graph):.0f}")
    return table


def rollouts_table(graph: Path) -> Table:
    """Measure a training batch of scripted rollouts."""
    table = Table("what", "ours", title=f"a batch of {rollouts.PROMPTS} x {rollouts.GROUP} rollouts, 10 calls each")
    table.add_row("executed and scored, on one core", f"{rollouts.batch(rollouts.conversations(graph)):.2f} s")
    return table


def step_table(folder: Path) -> Table:
    """Measure the parts of a training step: medians over the steps, and their shares."""
    parts = step.parts(folder)
    total = sum(parts.values())
    table = Table("part", "seconds", "share", title=f"a step of GRPO with the warm policy, {step.BATCH}")
    for name, value in parts.items():
        table.add_row(name, f"{value:.3f}", f"{value / total:.1%}")
    return table


def rescoring_table(graph: Path) -> Table:
    """Measure the cost of rewards: rescoring stored rollouts, and scoring one at its end."""
    count = reward_replay.EXAMPLES * reward_replay.GROUP
    title = f"{count:,} rollouts of {reward_replay.EXAMPLES} conversations scored again on one core; one rollout live"
    table = Table("reward", "seconds in all", "one, its world open", title=title)
    seconds, one = reward_replay.per_form(graph)
    for name in seconds:
        table.add_row(name, f"{seconds[name]:.2f}", f"{one[name]:,.0f} us")
    return table


def store_table(graph: Path) -> Table:
    """Measure the cost of storing and reading rollouts."""
    found, step = store.measure(graph), store.PROMPTS * store.GROUP
    table = Table("what", "ours", title=f"the store of rollouts, a step of {step}")
    table.add_row("a rollout on disk", f"{found.stored:,.0f} bytes, of {found.plain:,.0f} as JSON")
    table.add_row(f"a run of {store.STEPS} steps", f"{found.stored * step * store.STEPS / 1e6:,.0f} MB")
    table.add_row("keep the rollouts of a step", f"{found.keep_s * 1e3:,.1f} ms")
    table.add_row("read one rollout", f"{found.one_s * 1e3:,.2f} ms")
    table.add_row(f"read {store.MANY:,} rollouts to score them", f"{found.many_s:,.2f} s")
    return table


def picture_table(graph: Path) -> Table | str:
    """Measure how smoothly the whole graph pans in a browser, or return why it was not measured."""
    found = picture.measure(graph)
    if isinstance(found, str):
        return f"The graph view was not measured. {found}"
    table = Table("what", "ours", title=f"the picture of {found.edges:,} edges as {found.lines:,} lines, in a browser")
    table.add_row("a frame while it is panned, median", f"{found.median:.1f} ms")
    table.add_row("95th percentile", f"{found.p95:.1f} ms")
    return table


def pages_table() -> Table | str:
    """Measure pages while many people use the site, or return why they were not measured."""
    found = pages.measure()
    if isinstance(found, str):
        return f"Pages were not measured. {found}"
    title = "pages on loopback, 20 people who think a second, 10,000 sessions stored"
    table = Table("page", "times", "server's own, median", "95th", "whole, median", "95th", title=title)
    for name, page in sorted(found.items()):
        figures = (page.server_median, page.server_p95, page.median, page.p95)
        table.add_row(name, f"{page.pages:,}", *(f"{figure:.0f} ms" for figure in figures))
    return table


def by_hand_table() -> Table | str:
    """Measure a manual tool call in a browser, or return why it was not measured."""
    found = pages.by_hand()
    if isinstance(found, str):
        return f"Manual calls were not measured. {found}"
    table = Table("what", "ours", title=f"{found.calls} manual calls in a browser, 10,000 sessions stored")
    table.add_row("from Ctrl+Enter to its result, median", f"{found.median:.0f} ms")
    table.add_row("95th percentile", f"{found.p95:.0f} ms")
    return table


def sockets_table() -> Table | str:
    """Measure how long points of a run take to reach its viewers, or return why it was not measured."""
    found = sockets.measure()
    if isinstance(found, str):
        return f"Sockets were not measured. {found}"
    title = f"from sending a point to a browser, 5 points a second, {found[0].points} points"
    table = Table("sockets on one run", "received all, once, in order", "median", "95th", "99th", "most", title=title)
    for one in found:
        name = f"{one.sockets}, {one.leaving:.0f} a second cut off" if one.leaving else str(one.sockets)
        figures = (one.median, one.p95, one.p99, one.most)
        table.add_row(name, f"{one.complete} of {one.sockets}", *(f"{figure:.0f} ms" for figure in figures))
    return table


def against_peers(folder: Path, bfcl: bool, tau2: Path | None, verifiers: bool) -> Iterator[Table]:
    """Measure our median call, opening and digest against the peers', in alternating rounds."""
    table = Table("what", "ours", "peer", "ratio", title=f"compared with peers, medians of {ROUNDS} alternating rounds")
    if bfcl:
        with peers.bfcl(folder) as peer:
            rounds = [(one_call(), *peer.measure()) for _ in range(ROUNDS)]
        add(table, "one call", "BFCL multi-turn, cold", [(ours, cold) for ours, cold, _ in rounds])
        add(table, "one call", "BFCL multi-turn, hot", [(ours, hot) for ours, _, hot in rounds])
    if tau2:
        with peers.tau2(folder, tau2) as peer:
            measured = [(one_call(), servers.open_all(), *peer.measure()) for _ in range(ROUNDS)]
        add(table, "one call", "tau2 retail", [(call, theirs) for call, _, theirs, _, _ in measured])
        add(table, "open a session", "tau2 retail, load", [(opened, load) for _, opened, _, load, _ in measured])
    if verifiers:
        for what, theirs, rounds in rollouts_against_verifiers(folder):
            add(table, what, theirs, rounds)
    if table.rows:
        yield table


def rollouts_against_verifiers(folder: Path) -> Iterator[tuple[str, str, list[tuple[float, ...]]]]:
    """Yield CPU seconds per rollout by round: with a tool that costs next to nothing, and in the same worlds."""
    examples = rollouts.conversations(folder / "graph")
    kinds = ([rollouts.light()] * len(examples), examples)
    scripts = [[rollouts.script(one, rollouts.CALLS) for one in kind] for kind in kinds]
    tasks = rollouts.leave_tasks(folder, examples)
    with peers.verifiers(folder, rollouts.CALLS, rollouts.GROUP, tasks) as peer:
        rounds = [
            ([rollouts.seconds_of(kind, time.process_time) for kind in scripts], peer.measure()) for _ in range(ROUNDS)
        ]
    for place, theirs in enumerate(("a tool that adds to a number", "the same worlds")):
        what = f"rollout of {rollouts.CALLS} calls, {('list_accounts', 'ground truth')[place]}"
        yield what, f"verifiers, {theirs}", [(mine[place], other[place]) for mine, other in rounds]


def one_call() -> float:
    return statistics.median(servers.calls_by_tool().values())


def add(table: Table, what: str, peer: str, rounds: Sequence[tuple[float, ...]]) -> None:
    ours, theirs = (statistics.median(column) for column in zip(*rounds, strict=True))
    table.add_row(what, micro(ours), f"{micro(theirs)}  {peer}", f"{theirs / ours:,.1f}x")


def micro(value: float) -> str:
    return f"{value * 1e6:,.1f} us"


if __name__ == "__main__":
    raise SystemExit(main())
