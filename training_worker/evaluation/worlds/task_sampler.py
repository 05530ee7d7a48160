"""Task sampler: conversations made from a seed alone, in held-out worlds, equal in every process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

from mcp_servers.catalogue import SERVERS, TOOLS

from ...core.trajectory import Example, Kind, dumps
from ...graph.dependency_graph import load_or_build
from ...synthesis.conversation import Recipe
from ...synthesis.dedup import distinct
from ...synthesis.knobs import PAPER, TINY
from ...synthesis.shards import Draws
from .options import WorldOptions

ABSTENTION = "abstention"
WORLDS = 16  # shared by the conversations, since building a world takes time
KNOBS = {
    # No user asks for something that has become impossible, since trying it is a refused call.
    "paper": replace(PAPER, recovery=0.0, sorts={"declined": 1.0}),
    "plain": replace(TINY, recovery=0.0, sorts={"declined": 1.0}),
}
SPAN = 20_000  # indices per category
TRIES = 40  # draws per wanted item: of the rarest, long chains, one draw in twenty is suitable
KINDS: tuple[Kind, ...] = ("missing_function", "irrelevance")


def draws_of(
    making: WorldOptions, graphs: Path, servers: Sequence[str], turned: Mapping[str, Any] | None = None
) -> Draws:
    """Return the draws of conversations about these servers; `turned` replaces some knobs of their manner.

    The graph is read from the folder, or built and stored there.
    """
    graph = load_or_build(graphs, servers=servers)
    knobs = replace(KNOBS[making.manner], most=making.candidates, **(turned or {}))
    recipe = Recipe(making.seed, held_out_worlds=WORLDS, knobs=knobs)
    return Draws(graph, recipe, "held_out")


def chains(draws: Draws, servers: Sequence[str], number: int, count: int) -> list[Example]:
    """Return up to `count` distinct conversations that call mostly these servers, with their tools taken in turn.

    `number` is the category's, 0 to 79; categories share no index.
    """
    tools = [name for name in draws.graph if TOOLS[name][0].name in servers]
    made = (draws.make_result(index, "chain", tools[index % len(tools)]).example for index in indices(number, count))
    return take_distinct_examples(count, (one for one in made if one and server_of(one) in servers))


def abstentions(draws: Draws, number: int, count: int) -> list[Example]:
    """Return up to `count` conversations that need no call: the tool is hidden, or no tool fits."""
    lone = len({TOOLS[name][0].name for name in draws.graph}) == 1
    kinds = KINDS[:1] if lone else KINDS  # a single server has no foreign tools
    made = (draws.make_result(index, kinds[index % len(kinds)], None).example for index in indices(number, count))
    return take_distinct_examples(count, (one for one in made if one))


def indices(number: int, count: int) -> range:
    return range(number * SPAN, number * SPAN + min(SPAN, TRIES * count))


def take_distinct_examples(count: int, examples: Iterator[Example]) -> list[Example]:
    """Return the first `count` distinct examples."""
    chosen: list[Example] = []
    while len(chosen) < count and (more := list(islice(examples, count - len(chosen)))):
        chosen = list(distinct([*chosen, *more]))
    return chosen


def server_of(example: Example) -> str:
    """Return the server of most ground-truth calls, the first one called among ties; "" without calls."""
    called = Counter(TOOLS[call.name][0].name for step in example.steps for call in step.calls if call.name in TOOLS)
    return called.most_common(1)[0][0] if called else ""


def category_of(example: Example) -> str:
    """Return an example's server, or abstention where no call is due."""
    return server_of(example) or ABSTENTION


def by_server(making: WorldOptions, graphs: Path) -> dict[str, list[Example]]:
    """Return up to `making.count` conversations of each server and of abstention."""
    draws = draws_of(making, graphs, making.servers)
    places = {name: place for place, name in enumerate(SERVERS)}
    found = {name: chains(draws, [name], places[name], making.count) for name in making.servers}
    return {**found, ABSTENTION: abstentions(draws, len(SERVERS), making.count)}


def digest_of(examples: Iterable[Example], catches: Iterable[str] = ()) -> str:
    """Return a digest of these conversations and their catches, for the version of a benchmark."""
    lines = "\n".join((*map(dumps, examples), *catches))
    return blake2b(lines.encode(), digest_size=6).hexdigest()
