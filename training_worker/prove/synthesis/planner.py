"""The programmatic teacher's planner: runs a chain live, step by step, each on what the earlier ones gave.

It needs no language model. What it plans is grounded twice over: every value was shown by a read-only tool or given by
the user, and every step succeeded in a live world before it is kept.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import networkx as nx

from mcp_servers.catalogue import TOOLS
from mcp_servers.kit import Draw, Tool
from mcp_servers.world import World

from ..pairs import as_taken
from ..provenance import spoken
from ..shapes import Found, found_in, values_in
from .knobs import Knobs
from .language import choose, clause
from .sampler import Context, fill

POINTER = "that "


class StepRefused(Exception):
    """A tool of the chain refused in this world: another draw will do."""


@dataclass
class Done:
    """A step that was run: its call, what it gave, which earlier steps fed it, and how the user words it; and the world
    just before it."""

    tool: str
    arguments: dict[str, Any]
    text: str
    digest: str
    fed_by: dict[str, int]
    words: dict[str, str]
    ask: str
    found: list[Found] = field(default_factory=list)
    before: World | None = None

    @property
    def clause(self) -> str:
        """The step as the user asks for it after the steps before it."""
        return clause(self.ask, self.arguments, self.words)

    def alone(self) -> str:
        """The step as the user asks for it when nothing was said before."""
        words = {name: text for name, text in self.words.items() if not text.startswith(POINTER)}
        return clause(self.ask, self.arguments, words)

    def given(self) -> list[str]:
        """The values the user has to say for this step: all that no earlier step gives."""
        return [spoken(value) for name, value in self.arguments.items() if name not in self.fed_by]


def run_chain(
    chain: tuple[str, ...],
    graph: nx.DiGraph,
    world: World,
    context: Context,
    draw: Draw,
    knobs: Knobs,
    wishes: float = 0.25,
) -> list[Done]:
    """Run a chain in a world. Raises NothingFits or StepRefused when this world cannot serve it.

    A step that is refused is tried again with other entities, in all `knobs.tries` times: those that can serve it are
    kept.
    """
    done: list[Done] = []
    for position, name in enumerate(chain):
        for tried in range(knobs.tries):
            try:
                done.append(run_step(name, chain[position + 1 :], graph, done, world, context, draw, knobs, wishes))
                break
            except StepRefused:
                if tried == knobs.tries - 1:
                    raise
    return done


def run_step(
    name: str,
    later: tuple[str, ...],
    graph: nx.DiGraph,
    done: list[Done],
    world: World,
    context: Context,
    draw: Draw,
    knobs: Knobs,
    wishes: float,
) -> Done:
    """Run one step of a chain after those done. Raises NothingFits or StepRefused."""
    tool = TOOLS[name][1]
    bound, words, fed_by = bind(tool, graph, done, draw)
    values = shown(tool, graph, done, draw) if knobs.values else {}
    bound = values | shared(graph, done, name) | ways(graph, tool, later) | bound
    ask, optional = choose(tool, draw, wishes)
    arguments = fill(tool, bound, context, draw, world, optional)
    before = world.fork()
    reply = world.call(name, arguments)
    if not reply.ok:
        raise StepRefused(f"{name}: {reply.text}")
    found = found_in(name, json.loads(reply.text))
    return Done(name, arguments, reply.text, world.digest(), fed_by, words, ask, found, before)


def enabling(graph: nx.DiGraph, first: str, then: str) -> dict[str, Any]:
    """The evidence that one tool enables another; empty when it does not."""
    edge = graph.get_edge_data(first, then)
    return edge["enables"] if edge and edge["kind"] == "implicit" else {}


def shared(graph: nx.DiGraph, done: list[Done], name: str) -> dict[str, Any]:
    """The ids that a step has in common with those that enable it: what is unlocked is then opened."""
    return {
        own: step.arguments[other]
        for step in done
        for own, other in enabling(graph, step.tool, name).get("shares", {}).items()
        if other in step.arguments
    }


def ways(graph: nx.DiGraph, tool: Tool, later: tuple[str, ...]) -> dict[str, Any]:
    """How a step is done so that it enables the first of the later ones that it can: gear D, not any gear."""
    evidence = next(filter(None, (enabling(graph, tool.name, name) for name in later)), None)
    if evidence is None:
        return {}
    return {
        name: value
        for name, value in evidence["producer"]["arguments"].items()
        if name in tool.required and name not in tool.ids and name not in tool.sensitive and name not in tool.seen
    }


def bind(
    tool: Tool, graph: nx.DiGraph, done: list[Done], draw: Draw
) -> tuple[dict[str, Any], dict[str, str], dict[str, int]]:
    """For each required id that an earlier step gave: the id, the words for it, and the step. The latest giver wins."""
    bound: dict[str, Any] = {}
    words: dict[str, str] = {}
    fed_by: dict[str, int] = {}
    for name in tool.required:
        for position in range(len(done) - 1, -1, -1):
            edge = graph.get_edge_data(done[position].tool, tool.name)
            if edge is None or name not in edge["feeds"]:
                continue
            just_before = position == len(done) - 1
            options = nameable(done[position], tool.ids[name], set(map(str, bound.values())), just_before)
            if options:
                found, words[name] = draw.choice(options)
                bound[name] = as_taken(tool, name, found.id)
                fed_by[name] = position
                break
    return bound, words, fed_by


def shown(tool: Tool, graph: nx.DiGraph, done: list[Done], draw: Draw) -> dict[str, Any]:
    """For each required plain value that the step just before shows: one of those, which the user then says."""
    edge = graph.get_edge_data(done[-1].tool, tool.name) if done else None
    values = dict[str, Any]()
    for name in edge["shows"] if edge else ():
        told = {value for field, value in values_in(json.loads(done[-1].text)) if field == tool.seen[name]}
        if new := sorted(told - set(map(str, done[-1].arguments.values())), key=str):
            values[name] = draw.choice(new)
    return values


def nameable(step: Done, id_type: str, used: set[str], just_before: bool) -> list[tuple[Found, str]]:
    """The ids of a type in a step's result that words tell apart, with those words.

    "That account" will do only for the one account the step just before dealt with.
    """
    given = [found for found in step.found if found.type == id_type]
    if len(given) == 1 and not given[0].label and just_before:
        tool = TOOLS[step.tool][1]
        dealt_with = {step.arguments.get(name) for name, type in tool.ids.items() if type == id_type} - {None}
        if dealt_with <= {given[0].id} and given[0].id not in used:
            return [(given[0], f"{POINTER}{noun(id_type)}")]
    labels = [found.label for found in given]
    return [(f, f.label) for f in given if f.label and labels.count(f.label) == 1 and f.id not in used]


def noun(id_type: str) -> str:
    """AccountId -> account, ScheduledPaymentId -> scheduled payment."""
    return re.sub(r"(?<!^)([A-Z])", r" \1", id_type.removesuffix("Id")).lower()
