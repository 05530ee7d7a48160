"""Sampling of a live world through its read-only tools: ids, labels and values that ground a query.

The state is read only through tools (paper, section 2, step 2), except for PINs, which their owner knows by heart.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import Any

from mcp_servers.core import Draw, Tool, minute_text
from mcp_servers.world import World

from .result_schema import EntityRef, find_entity_refs, values_in

CALLS_PER_TOOL = 2
FEWEST_ROWS = 3  # smallest `limit` that users ask for
DAYS = {"soon": (1, 13), "past": (-60, -2), "years": (400, 3_000)}  # from now


class StepRefused(Exception):
    """A call that a plan needs but the world refuses."""


class NothingFits(Exception):
    """A plan that this world cannot serve, for example without a value for a parameter; others may work."""


@dataclass
class Context:
    """The ids by type and plain values by field name that read-only tools showed, and the PINs the user knows."""

    ids: dict[str, dict[str, EntityRef]] = field(default_factory=dict)
    values: dict[str, dict[Any, None]] = field(default_factory=dict)
    secrets: dict[tuple[str, str], str] = field(default_factory=dict)

    def learn(self, tool: str, result: Any) -> None:
        for found in find_entity_refs(tool, result):
            known = self.ids.setdefault(found.type, {})
            if not known.get(found.id, EntityRef("", "")).label:
                known[found.id] = found
        for name, value in values_in(result):
            self.values.setdefault(name, {})[value] = None


def sample(world: World, draw: Draw) -> Context:
    """Call the read-only tools of a world: first those that need no ids, then those whose ids are known by then."""
    context = Context(secrets=world.known_by_heart())
    waiting = [tool for tool in world.tools().values() if not tool.writes]
    progress = True
    while waiting and progress:
        progress = False
        for tool in list(waiting):
            if all(id in context.ids for id in tool.consumes):
                waiting.remove(tool)
                progress = sample_tool(world, tool, context, draw) or progress
    return context


def contexts(world: World, servers: Collection[str], epoch: int) -> Context:
    """Return what some servers of a new world show, each through its own tools; each epoch samples again."""
    together = Context(secrets=world.known_by_heart())
    for server in servers:
        for type, found in context_of(world.seed, world.size, server, epoch).ids.items():
            together.ids[type] = found | together.ids.get(type, {})
        for name, values in context_of(world.seed, world.size, server, epoch).values.items():
            together.values[name] = values | together.values.get(name, {})
    return together


@lru_cache(maxsize=2_048)
def context_of(seed: int, size: str, server: str, epoch: int) -> Context:
    """Return what one server shows; the result is shared and must not be changed."""
    return sample(World.open(seed, (server,), size), Draw("context", seed, server, epoch))


def sample_tool(world: World, tool: Tool, context: Context, draw: Draw) -> bool:
    """Call a read-only tool a few times; return whether a call succeeded."""
    learned = False
    for _ in range(CALLS_PER_TOOL if tool.required else 1):
        try:
            arguments = fill(tool, {}, context, draw, world)
        except NothingFits:
            break
        reply = world.call(tool.name, arguments)
        if reply.ok:
            context.learn(tool.name, reply.data)
            learned = True
    return learned


def fill(
    tool: Tool,
    given: Mapping[str, Any],
    context: Context,
    draw: Draw,
    world: World,
    optional: Collection[str] = (),
) -> dict[str, Any]:
    """Return arguments for a tool: those given, and grounded values for the rest. Raises NothingFits.

    Of the optional parameters, only those in `optional` are filled. Ids of one type differ between parameters.
    """
    arguments, used = dict(given), set(map(str, given.values()))
    schema = tool.input_schema
    for name, part in schema["properties"].items():
        if name in arguments or name not in (*tool.required, *optional):
            continue
        arguments[name] = value(tool, name, part, context, draw, world, used)
        used.add(str(arguments[name]))
    return {name: arguments[name] for name in schema["properties"] if name in arguments}


def value(
    tool: Tool,
    name: str,
    part: dict[str, Any],
    context: Context,
    draw: Draw,
    world: World,
    used: set[str],
    days: str = "soon",
) -> Any:
    """Return a grounded value for a parameter: an id or text of the world, a choice, an example, a day or a time.

    `days` is the range of days: soon, in the past, or years ahead. Raises NothingFits.
    """
    part = unwrap(part)
    if part.get("type") == "array":
        inner = {"anyOf": [part["items"]]}
        return [value(tool, name, inner, context, draw, world, used)]
    if name in tool.ids:
        return pick([id for id in context.ids.get(tool.ids[name], ()) if id not in used], draw, name)
    if name in tool.seen:
        return pick(list(context.values.get(tool.seen[name], ())), draw, name)
    if name in tool.sensitive and not part.get("examples"):
        return pick([secret for (id, of), secret in context.secrets.items() if of == name and id in used], draw, name)
    if part.get("enum") or part.get("examples"):
        options = part.get("enum") or part["examples"]
        few = [one for one in options if name != "limit" or one >= FEWEST_ROWS]
        return draw.choice(few or options)
    match part:
        case {"format": "date-time"}:
            day = world.now.replace(minute=0) + timedelta(days=draw.integer(1, 13))
            return minute_text(day.replace(hour=draw.integer(8, 17)))
        case {"format": "date"}:
            return f"{world.now + timedelta(days=draw.integer(*DAYS[days])):%Y-%m-%d}"
        case {"type": "integer"}:
            least = FEWEST_ROWS if name == "limit" else 1
            low = max(least, part.get("minimum", 1)) if part.get("maximum", 1) > 0 else part["minimum"]
            return draw.integer(low, min(part.get("maximum", low + 20), low + 20))
        case {"type": "boolean"}:
            return draw.chance(0.5)
        case {"const": constant}:
            return constant
    raise NothingFits(f"{tool.name}: nothing to fill {name} with.")


def pick(options: list[Any], draw: Draw, name: str) -> Any:
    if not options:
        raise NothingFits(f"The world shows nothing for {name}.")
    return draw.choice(options)


def widest(tool: Tool) -> int:
    """Return the largest number of rows that a tool can be told to list; 0 where it has no such parameter."""
    part = tool.input_schema["properties"].get("limit")
    return int(unwrap(part).get("maximum", 0)) if part and "limit" not in tool.required and not tool.writes else 0


def unwrap(part: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter without the branch for null."""
    return next((branch for branch in part.get("anyOf", ()) if branch.get("type") != "null"), {}) | part
