"""Valid arguments for a tool from a session's state, drawn as in synthesis; equal states give equal examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcp_servers.core import Draw, Tool
from mcp_servers.world import World
from training_worker.graph.sampler import NothingFits, fill, sample

TRIES = 16


@dataclass(frozen=True)
class Example:
    """Arguments that were tried in a fork of the world, and the error that the tool returned for them, if any."""

    arguments: dict[str, Any]
    refused: str = ""


def example(world: World, tool: Tool, number: int = 0) -> Example:
    """Return the example of this number for the world's current state: one that succeeds, if some tries find one.

    The world stays unchanged. Raises NothingFits if the world has no value for a required parameter.
    """
    now = world.digest()
    context, found, reason = sample(world.fork(), Draw("example", now)), list[Example](), NothingFits()
    for trial in range(TRIES):
        draw = Draw("example", tool.name, now, number, trial)
        try:
            arguments = fill(tool, {}, context, draw, world, draw_optional_parameters(tool, draw, trial))
        except NothingFits as nothing:
            reason = nothing
            continue
        reply = world.fork().call(tool.name, arguments)
        found.append(Example(arguments, "" if reply.ok else str(reply.data["message"])))
        if reply.ok:
            return found[-1]
    if not found:
        raise reason
    return found[0]


def draw_optional_parameters(tool: Tool, draw: Draw, trial: int) -> list[str]:
    """Return a few optional parameters to fill too; none in the later tries."""
    optional = [name for name in tool.input_schema["properties"] if name not in tool.required]
    return [name for name in optional if trial < TRIES // 2 and name not in tool.ids and draw.chance(0.3)]
