"""Alternative look-ups: other read-only calls that show what later steps take from a ground-truth look-up."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product

from mcp_servers.catalogue import TOOLS
from mcp_servers.core import Tool
from mcp_servers.world import World

from ..core.trajectory import Alternative, Example, Json, ToolCall
from ..dataflow.provenance import single, word
from ..dataflow.resolver import ObservedLeaf, Origin, describe_parameter, list_unresolved_values, resolve
from ..dataflow.values import find_differing_keys
from ..graph.explicit_edges import as_taken
from ..graph.result_schema import Row, rows_in

MOST_CALLS = 40  # run per example
MOST_ALTERNATIVES = 6  # per look-up
MOST_VALUES = 3  # tried per parameter

Place = tuple[int, int]
"""The position of a call: its step and the call in it."""


@dataclass(frozen=True)
class Lookup:
    """A ground-truth look-up, and the values that later steps take from its observation.

    `types` are those of the ids among these values, `rows` the rows of these ids and `numbers` what `collect_numbers`
    gives of them, as far as the user names the field. `known` are the ids that it or an earlier call was made with, by
    type; `said` is all that the user says.
    """

    place: Place
    call: ToolCall
    taken: tuple[Json, ...]
    types: frozenset[str]
    rows: tuple[Row, ...]
    numbers: frozenset[tuple[str, str, int]]
    known: Mapping[str, Sequence[Json]]
    said: str


def find_alternatives(example: Example, lookups: Collection[ToolCall]) -> tuple[Alternative, ...]:
    """Return calls that can replace the look-ups of an example, sorted by position, at most six for each.

    An alternative shows all that later steps take from the look-up, and without the look-up every value of the example
    can still be derived. Reads change nothing, so later observations stay the same. A call of the same tool that only
    adds arguments to the look-up is not an alternative, since it matches the look-up itself.

    Args:
        example: Example that replays.
        lookups: Calls that are made only for what later steps take from them; others keep to the ground truth.
    """
    found = list[Alternative]()
    resolving = list(find_lookups(example, lookups))
    for lookup, world in zip(resolving, worlds_before(example, [one.place[0] for one in resolving]), strict=True):
        found += islice(search(example, lookup, world, MOST_CALLS // len(resolving)), MOST_ALTERNATIVES)
    return tuple(found)


def find_faults(example: Example) -> Iterator[str]:
    """Yield a message for each alternative of an example that does not show the values taken from its look-up."""
    if not example.alternatives:
        return
    taken = find_taken(example)
    ordered = sorted(example.alternatives, key=lambda one: one.step)
    for one, world in zip(ordered, worlds_before(example, [one.step for one in ordered]), strict=True):
        values = [origin.value for origin in taken.get((one.step, one.call), ())]
        if one.other.name not in example.candidates or show(world, one.other, values) is None:
            yield f"{one.other.name} does not show the values taken from step {one.step}"


def worlds_before(example: Example, steps: Sequence[int]) -> Iterator[World]:
    """Yield for each of some steps, in ascending order, a fork of the world just before it."""
    if not steps:
        return
    world, position = World.open(example.world.seed, example.world.servers, example.world.size), 0
    for step in steps:
        for one in example.steps[position:step]:
            for call in one.calls:
                world.call(call.name, call.arguments or {})
        position = step
        yield world.fork()


def find_taken(example: Example) -> dict[Place, list[Origin]]:
    """Return the values that later steps take from the observation of each call, in order."""
    taken = defaultdict[Place, list[Origin]](list)
    for one in resolve(example):
        if isinstance(one.where, ObservedLeaf):
            taken[one.where.step, one.where.call].append(one)
    return dict(taken)


def find_lookups(example: Example, calls: Collection[ToolCall]) -> Iterator[Lookup]:
    """Yield the look-ups among some calls from which a later step takes an id."""
    said = " ".join(example.turns).lower()
    for (step, at), origins in sorted(find_taken(example).items()):
        call = example.steps[step].calls[at]
        types = frozenset(name for one in origins if (name := find_type(example, one)))
        if call not in calls or TOOLS[call.name][1].writes or not types:
            continue
        values = tuple(dict.fromkeys(one.value for one in origins))
        rows = rows_in(call.name, json.loads(example.steps[step].observations[at]))
        own = tuple(row for row in rows if row.id in values)
        named = frozenset(one for one in collect_numbers(own) if one[1].replace("_", " ") in said)
        before = [one for earlier in reversed(example.steps[:step]) for one in earlier.calls]
        yield Lookup((step, at), call, values, types, own, named, collect_ids([call, *before]), said)


def find_type(example: Example, origin: Origin) -> str:
    """Return the type of the id that an origin is of; "" where its value is no id."""
    return TOOLS[example.steps[origin.step].calls[origin.call].name][1].ids.get(origin.parameter, "")


def collect_ids(calls: Sequence[ToolCall]) -> dict[str, list[Json]]:
    """Return the ids in the arguments of some calls, by type."""
    found = defaultdict[str, list[Json]](list)
    for call in calls:
        for name, id_type in TOOLS[call.name][1].ids.items():
            found[id_type] += [one for one in single((call.arguments or {}).get(name)) if one is not None]
    return {id_type: list(dict.fromkeys(ids)) for id_type, ids in found.items()}


def collect_numbers(rows: Sequence[Row]) -> Iterator[tuple[str, str, int]]:
    """Yield the whole numbers of some rows, each with the row's id and the field: a condition may be about one."""
    for row in rows:
        yield from ((row.id, name, value) for name, value in row.fields.items() if type(value) is int)


def search(example: Example, lookup: Lookup, world: World, most: int) -> Iterator[Alternative]:
    """Yield the alternatives to a look-up among at most `most` calls, which run in the world just before it."""
    passed = [lookup.call]
    for other in islice((one for one in propose(example, lookup) if not is_covered(one, passed)), most):
        text = show(world, other, lookup.taken)
        if text is None or not lookup.numbers <= set(collect_numbers(list(rows_in(other.name, json.loads(text))))):
            continue
        if not list_unresolved_values(swap(example, lookup.place, other, text)):
            passed.append(other)
            yield Alternative(*lookup.place, other)


def is_covered(call: ToolCall, others: Sequence[ToolCall]) -> bool:
    """Return whether a call equals one of some others or adds arguments to it, so that it matches that one."""
    return any(
        one.name == call.name and not find_differing_keys(one.arguments or {}, call.arguments or {}) for one in others
    )


def show(world: World, call: ToolCall, values: Collection[Json]) -> str | None:
    """Return the observation of a read-only call if it shows all of some values, else None."""
    if call.name not in TOOLS or TOOLS[call.name][1].writes:
        return None
    reply = world.call(call.name, call.arguments or {})
    return reply.text if reply.ok and set(values) <= set(single(reply.data)) else None


def swap(example: Example, place: Place, other: ToolCall, text: str) -> Example:
    """Return an example with one ground-truth call and its observation replaced."""
    step, at = place
    one = example.steps[step]
    calls, texts = list(one.calls), list(one.observations)
    calls[at], texts[at] = other, text
    steps = list(example.steps)
    steps[step] = replace(one, calls=tuple(calls), observations=tuple(texts))
    return replace(example, steps=tuple(steps))


def propose(example: Example, lookup: Lookup) -> Iterator[ToolCall]:
    """Yield calls of the shown tools that may show what a look-up shows; those of its own server come first."""
    server = TOOLS[lookup.call.name][0]
    reads = [TOOLS[name] for name in dict.fromkeys(example.candidates) if not TOOLS[name][1].writes]
    fitting = [(own is not server, tool.name) for own, tool in reads if lookup.types <= tool.produces]
    for _, name in sorted(fitting):
        tool = TOOLS[name][1]
        required = [[(one, value) for value in list_values(lookup, tool, one)] for one in tool.required]
        optional = [one for one in tool.input_schema["properties"] if one not in tool.required]
        for chosen in product(*required):
            yield ToolCall(name, dict(chosen))
            for one in optional:
                yield from (ToolCall(name, {**dict(chosen), one: value}) for value in list_values(lookup, tool, one))


def list_values(lookup: Lookup, tool: Tool, name: str) -> list[Json]:
    """Return values for a parameter that are known before a look-up: ids that earlier calls had, the look-up's own
    arguments, and what the user says of the entities that it is to find."""
    if name in tool.ids:
        ids = [one for one in lookup.known.get(tool.ids[name], ()) if one not in lookup.taken]
        return [as_taken(tool, name, one) for one in ids[:MOST_VALUES]]
    found = [(lookup.call.arguments or {}).get(name), *(row.fields.get(name) for row in lookup.rows)]
    if describe_parameter(tool.name, name).search:
        texts = [value for row in lookup.rows for value in row.fields.values() if isinstance(value, str)]
        found += [value for value in texts if word(lookup.said, value.lower()) >= 0]
    return list(dict.fromkeys(one for one in found if isinstance(one, str | int)))[:MOST_VALUES]
