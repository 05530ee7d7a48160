"""Proven dependence between steps: fed by a value that only an earlier observation shows, or enabled in a fork."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mcp_servers.catalogue import TOOLS
from mcp_servers.world import World

from ..core.trajectory import Example, Step
from ..dataflow.quality import fed_edges


def with_edges(example: Example) -> Example:
    """Return the example with its proven edges: `fed`, `enabled`, and both together in `edges`."""
    fed, enabled = fed_edges(example), tuple(sorted(enabled_edges(example)))
    return replace(example, fed=fed, enabled=enabled, edges=tuple(sorted({*fed, *enabled})))


def enabled_edges(example: Example) -> Iterator[tuple[int, int]]:
    """Yield pairs of steps (j, g): without j, the observations of g differ. The clock advances as if j was done."""
    world = World.open(example.world.seed, example.world.servers, example.world.size)
    for left_out, step in enumerate(example.steps):
        without = world.fork()
        run(world, step)
        if any(TOOLS[call.name][1].writes for call in step.calls):
            without.now = world.now
            for later in range(left_out + 1, len(example.steps)):
                if run(without, example.steps[later]) != example.steps[later].observations:
                    yield left_out, later


def run(world: World, step: Step) -> tuple[str, ...]:
    """Run a step's calls in a world and return the observations."""
    return tuple(world.call(call.name, call.arguments or {}).text for call in step.calls)


def is_dependent(example: Example, strays: int) -> bool:
    """Return whether all later steps but at most `strays` depend on an earlier one, by a proven edge."""
    reached = {later for _, later in example.edges}
    return len(example.steps) - 1 - len(reached) <= strays
