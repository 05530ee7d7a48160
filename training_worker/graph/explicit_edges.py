"""Explicit dependency edges, proven by running two tools in forked sessions: tool B needs a value that tool A returns.

A pair (A, B) is a candidate if A's result has an id type that a parameter of B requires, or a plain value under the
field that such a parameter is marked with (`core.ObservedField`): a seat, a city, a promo code. It is proven if B, in a
fork, succeeds with a value from A and fails with a value from another world. (Paper, section 2, step 1, which asks a
language model about each pair instead.)
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from mcp_servers.catalogue import TOOLS
from mcp_servers.core import Draw, Reply, Tool
from mcp_servers.world import World

from .edge_probe import WORLD_SEEDS, Run, laboratory, run_of
from .result_schema import EntityRef, fields_in, find_entity_refs, values_in
from .sampler import Context, NothingFits, fill

TRIES_PER_WORLD = 6
FOREIGN_VALUES = 3  # try several plain values of another world, because one of them may be valid in this world too
OUTPUT_CACHE_SIZE = 500
NOTHING = "[]"


@dataclass(frozen=True)
class ProducerResult:
    """The effect of the first tool: the world after its call, and the ids and plain values of its result."""

    after: World
    ids: list[EntityRef]
    values: list[tuple[str, Any]]


@lru_cache(maxsize=OUTPUT_CACHE_SIZE)
def run_producer(seed: int, servers: tuple[str, ...], name: str, arguments: str) -> ProducerResult | None:
    """Run a tool in a fork of a probe world; None if it fails. Cached, because many pairs start with the same call."""
    after = laboratory(seed, servers)[0].fork()
    reply = after.call(name, arguments)
    return ProducerResult(after, find_entity_refs(name, reply.data), list(values_in(reply.data))) if reply.ok else None


@dataclass(frozen=True)
class Candidate:
    """Tools A and B by name, and the parameter of B that takes a value from A.

    The value is an id of type `of`, or, if `plain`, a text in the field `of` of A's result.
    """

    giver: str
    taker: str
    parameter: str
    of: str
    plain: bool = False

    @property
    def servers(self) -> tuple[str, ...]:
        return tuple(sorted({TOOLS[name][0].name for name in (self.giver, self.taker)}))

    def values(self, arguments: dict[str, Any], giving: ProducerResult) -> list[str]:
        """Return the values that A returned, without texts that A was called with, which the user already knew."""
        if not self.plain:
            return [found.id for found in giving.ids if found.type == self.of]
        values = (value for name, value in giving.values if name == self.of and isinstance(value, str))
        return [value for value in dict.fromkeys(values) if value not in arguments.values()]

    def has_succeeded(self, reply: Reply) -> bool:
        """Return whether B succeeded; a search by a plain value that finds nothing counts as failed."""
        return reply.ok and not (self.plain and reply.text == NOTHING)

    def turned_away(self, reply: Reply) -> bool:
        """Return whether B did not know the value; a schema violation does not count, as it proves no dependency."""
        return not self.has_succeeded(reply) and (reply.ok or reply.data["error"] != "invalid_arguments")


@dataclass(frozen=True)
class Proof:
    """The runs that prove an edge: A; B with a value from A; B with a value from another world; B with the value from A
    in a world where A did not run. If the last run fails, A `created` the value that B needs."""

    seed: int
    producer: Run
    with_output: Run
    with_foreign: Run
    without: Run
    created: bool


def candidates(tools: Iterable[Tool]) -> list[Candidate]:
    """Return every pair in which A's result has a value for a required parameter of B: ids first, then plain values."""
    known = list(tools)
    fields = {tool.name: fields_in(tool.result_type) for tool in known}
    needed = [(b, parameter) for b in known for parameter in b.required]
    by_id = [
        Candidate(a.name, b.name, parameter, b.ids[parameter])
        for b, parameter in needed
        if parameter in b.ids
        for a in known
        if a is not b and b.ids[parameter] in a.produces
    ]
    by_value = [
        Candidate(a.name, b.name, parameter, b.seen[parameter], plain=True)
        for b, parameter in needed
        if parameter in b.seen and parameter not in b.sensitive
        for a in known
        if a is not b and b.seen[parameter] in fields[a.name]
    ]
    return by_id + by_value


def prove(candidate: Candidate) -> Proof | None:
    """Run the pair until the edge is proven; return None if all tries fail."""
    for seed in WORLD_SEEDS:
        opening, context = laboratory(seed, candidate.servers)
        draw = Draw("proof", seed, candidate.giver, candidate.taker, candidate.parameter)
        for number in range(TRIES_PER_WORLD):
            optional = extras(TOOLS[candidate.taker][1]) if number % 2 else ()
            proof = attempt(candidate, seed, opening, context, draw, optional)
            if proof is not None:
                return proof
    return None


def extras(tool: Tool) -> tuple[str, ...]:
    """Return the optional parameters that are neither ids nor sensitive: a tool may need one of several."""
    needed = set(tool.required) | set(tool.ids) | tool.sensitive
    return tuple(name for name in tool.input_schema["properties"] if name not in needed)


def attempt(
    candidate: Candidate, seed: int, opening: World, context: Context, draw: Draw, optional: Sequence[str]
) -> Proof | None:
    """Try once: run A in a fork, then B in forks of the world after A; return None if this proves no edge."""
    a, b, parameter = TOOLS[candidate.giver][1], TOOLS[candidate.taker][1], candidate.parameter
    try:
        first = fill(a, {}, context, draw, opening)
        gave = run_producer(seed, candidate.servers, a.name, json.dumps(first, ensure_ascii=False))
        given = candidate.values(first, gave) if gave else []
        if not gave or not given:
            return None
        after = gave.after
        own = fill(b, {parameter: as_taken(b, parameter, draw.choice(given))}, context, draw, after, optional)
    except NothingFits:
        return None
    if not candidate.has_succeeded(after.fork().call(b.name, own)):
        return None
    for value in foreign(candidate, seed, context):
        other = own | {parameter: as_taken(b, parameter, value)}
        if candidate.turned_away(after.fork().call(b.name, other)):
            return taken_down(candidate, seed, opening, (first, own, other))
    return None


def foreign(candidate: Candidate, seed: int, context: Context) -> Iterator[str]:
    """Yield values of the same kind that another world has and this one does not."""
    _, elsewhere = laboratory(seed + 1, candidate.servers)
    if not candidate.plain:
        here, there = context.ids.get(candidate.of, {}), elsewhere.ids.get(candidate.of, {})
        yield next((id for id in there if id not in here), "NONE-0000")
        return
    values = [value for value in elsewhere.values.get(candidate.of, ()) if isinstance(value, str)]
    yield from [value for value in values if value not in context.values.get(candidate.of, {})][:FOREIGN_VALUES]


def taken_down(candidate: Candidate, seed: int, opening: World, calls: tuple[dict[str, Any], ...]) -> Proof:
    """Run and record the calls that proved an edge: A's arguments, B's, and B's with the foreign value."""
    first, own, other = calls
    after, before = opening.fork(), opening.fork()
    producer = run_of(after, candidate.giver, first)
    with_output, with_foreign = (run_of(after.fork(), candidate.taker, given) for given in (own, other))
    without = run_of(before, candidate.taker, own)
    created = not candidate.has_succeeded(Reply(without.ok, without.text))
    return Proof(seed, producer, with_output, with_foreign, without, created)


def as_taken(tool: Tool, parameter: str, value: str) -> Any:
    """Return a value in the form a parameter takes: as a list of one if it is an array."""
    return [value] if tool.input_schema["properties"][parameter].get("type") == "array" else value
