"""One conversation from a seed: world, chain, knobs, teacher, validation; or a reason why this draw gave none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import networkx as nx

from mcp_servers.catalogue import TOOLS, fingerprint
from mcp_servers.kit import Draw
from mcp_servers.kit.draw import FIRST_HELD_OUT_SEED
from mcp_servers.world import World

from ..trajectory import Example, Kind, Level, Split, WorldRef
from .chains import LENGTHS, draw_chain
from .dependence import is_dependent, with_edges
from .dialogue import Dialogue
from .endpoint import Endpoint
from .knobs import Knobs, draw_candidates, draw_kind, draw_servers, draw_toolset
from .language_model import write_texts
from .machine import Lesson, Stuck, Task, hold
from .planner import StepRefused
from .programmatic import Programmatic
from .sampler import Context, NothingFits, contexts, sample
from .teachers import endpoint
from .unserved import Unsearchable, search_for_plan
from .validate import Rejected, hidden_edges, validate

FEWEST_STEPS = 2  # of a chain
TRIES, INSIST = 12, 9  # trials of an index, and those that keep to the length it is meant to have
WORLDS_PER_DATASET = 20_000_000
LAST_SEED = 40
SPREAD = 101  # tools from one index to the next, so that few conversations are about many servers


@dataclass(frozen=True)
class Recipe:
    """What a data set is made by. `seed` (0 to 40) sets its worlds apart from those of other seeds; with `every_edge`
    chains follow more than the edges that give an id, which are those that the small policy of the site was shown.

    `worlds` and `held_out_worlds` are how many worlds the conversations of a split share; 0 gives each one of its own.
    With `even` the lengths from 2 to 5 come equally often, as far as worlds and graph allow. `teacher` is the name of a
    language model at an endpoint that words the conversations; without one the programmatic teacher's words stand.
    """

    seed: int = 0
    size: str = "small"
    every_edge: bool = False
    even: bool = False
    worlds: int = 0
    held_out_worlds: int = 0
    knobs: Knobs = field(default_factory=Knobs)
    teacher: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.seed <= LAST_SEED:
            raise ValueError(f"A recipe's seed is 0 to {LAST_SEED}, not {self.seed}: further on lie held-out worlds.")

    def world(self, split: Split, index: int, trial: int) -> int:
        """The seed of the world in which this trial of a conversation is made."""
        first = self.seed * WORLDS_PER_DATASET + (FIRST_HELD_OUT_SEED if split == "held_out" else 0)
        shared = self.shared(split)
        return first + ((index + trial) % shared if shared else index * TRIES + trial)

    def shared(self, split: Split) -> int:
        """How many worlds the conversations of a split share, or 0."""
        return self.held_out_worlds if split == "held_out" else self.worlds


@dataclass(frozen=True)
class Wanted:
    """What a draw is to give: its number and split, the tool it is about, and, unless free, kind, length and level."""

    index: int
    split: Split
    about: str
    kind: Kind | None = None
    length: int | None = None
    level: Level = "complete"


def make(
    index: int,
    split: Split,
    graph: nx.DiGraph,
    recipe: Recipe,
    kind: Kind | None = None,
    target: str | None = None,
    model: Endpoint | None = None,
) -> tuple[Example | None, list[str]]:
    """The example of this index, which depends on nothing but what is given; and why draws were dropped.

    Without a target the index names the tool the chain is drawn around, so that all tools of the graph are asked for
    equally often. Without a kind one is drawn. A language model words it where the recipe names one as teacher, or one
    is given. Raises EndpointFailed.
    """
    dropped: list[str] = []
    if recipe.teacher and model is None:
        model = endpoint(recipe.teacher)
    tools, knobs = list(graph), recipe.knobs
    spread = SPREAD if recipe.even and len(tools) % SPREAD else 1
    about = target or tools[index * spread % len(tools)]
    length = Draw("length", recipe.seed, split, index).choice(list(LENGTHS)) if recipe.even else None
    level = Draw("level", recipe.seed, split, index).weighted(tuple(knobs.levels), tuple(knobs.levels.values()))
    for trial in range(TRIES):
        asked = Wanted(index, split, about, kind, length, level if kind in (None, "chain") else "complete")
        if knobs.goals and trial >= TRIES // 3:
            asked = replace(asked, level="complete")
        if trial >= INSIST:
            asked = replace(asked, length=None, level=asked.level if trial < TRIES - 1 else "complete")
        try:
            example = converse(asked, trial, graph, recipe)
        except (NothingFits, StepRefused, Rejected, Stuck) as reason:
            dropped.append(f"{type(reason).__name__}: {reason}")
        else:
            return write_texts(example, model) if model else example, dropped
    return None, dropped


def converse(asked: Wanted, trial: int, graph: nx.DiGraph, recipe: Recipe) -> Example:
    """Draw, run and validate one conversation; raises NothingFits, StepRefused, Rejected or Stuck."""
    if recipe.knobs.goals:
        return pursue(asked, trial, graph, recipe)
    key = (recipe.seed, asked.split, asked.index, trial)
    draw, manner, knobs = Draw("conversation", *key), Draw("manner", *key), recipe.knobs
    kind = asked.kind or draw_kind(knobs, draw)
    chain = draw_chain(graph, asked.about, draw, recipe.every_edge, asked.length)
    if asked.length and len(chain) < asked.length:
        raise NothingFits(f"There is no chain of {asked.length} around {asked.about}.")
    candidates = draw_candidates(chain, kind, knobs, draw, graph)
    servers = servers_of((*candidates, *chain))
    world = World.open(recipe.world(asked.split, asked.index, trial), servers, recipe.size)
    context = look_around(world, chain, asked, recipe, draw)
    task = Task(kind, chain, candidates, asked.level if kind == "chain" else "complete", manner.choice(knobs.personas))
    teacher = Programmatic(Lesson(task, graph, world, context, knobs, draw, manner))
    talk = hold(teacher, world)
    if (kind == "chain") != bool(talk.steps):
        raise Rejected(f"{len(talk.steps)} steps were made where {'some are' if kind == 'chain' else 'none is'} due.")
    example = Example(
        id=f"{asked.split}-{recipe.seed}-{asked.index:06d}",
        kind=kind,
        split=asked.split,
        world=WorldRef(world.seed, servers, recipe.size),
        turns=tuple(talk.turns),
        steps=tuple(talk.steps),
        edges=tuple(sorted(talk.edges)),
        candidates=talk.task.candidates,
        answers=tuple(talk.answers),
        digests=tuple(talk.digests),
        fingerprint=fingerprint(servers),
        enums_stripped=draw.chance(knobs.enum_stripping),
        distractors=sum(TOOLS[name][0].name not in servers_of(chain) for name in talk.task.candidates),
        level=task.level,
        persona=task.persona,
        today=teacher.today,
        failures=tuple(talk.failures),
    )
    example = hidden_edges(example)
    validate(example)
    return example


def pursue(asked: Wanted, trial: int, graph: nx.DiGraph, recipe: Recipe) -> Example:
    """Plan, run and validate one conversation about goals; raises NothingFits, StepRefused, Rejected or Stuck."""
    key = (recipe.seed, asked.split, asked.index, trial)
    draw, manner, knobs = Draw("conversation", *key), Draw("manner", *key), recipe.knobs
    kind = asked.kind or draw_kind(knobs, draw)
    own = draw_servers(graph, asked.about, knobs, draw)
    candidates = draw_toolset(graph, own, kind, asked.about, knobs, draw)
    servers = servers_of((*candidates, *(name for name in graph if TOOLS[name][0].name in own)))
    world = World.open(recipe.world(asked.split, asked.index, trial), servers, recipe.size)
    level: Level = asked.level if kind == "chain" else "complete"
    task = Task(kind, (asked.about,), candidates, level, manner.choice(knobs.personas))
    teacher = Dialogue(Lesson(task, graph, world, Context(), knobs, draw, manner, own))
    if kind != "chain":
        require_unserved(world, teacher, graph)
    talk = hold(teacher, world)
    if (kind == "chain") != bool(talk.steps):
        raise Rejected(f"{len(talk.steps)} steps were made where {'some are' if kind == 'chain' else 'none is'} due.")
    example = Example(
        id=f"{asked.split}-{recipe.seed}-{asked.index:06d}",
        kind=kind,
        split=asked.split,
        world=WorldRef(world.seed, servers, recipe.size),
        turns=tuple(talk.turns),
        steps=tuple(talk.steps),
        edges=(),
        candidates=talk.task.candidates,
        answers=tuple(talk.answers),
        digests=tuple(talk.digests),
        fingerprint=fingerprint(servers),
        enums_stripped=draw.chance(knobs.enum_stripping),
        distractors=sum(TOOLS[name][0].name not in own for name in talk.task.candidates),
        level=task.level,
        persona=task.persona,
        today=teacher.today,
        failures=tuple(talk.failures),
        features=tuple(sorted(teacher.features)),
        acts=teacher.acts,
    )
    example = with_edges(example)
    if kind == "chain" and len(example.steps) < FEWEST_STEPS:
        raise Rejected("Everything is done in one step.")
    if kind == "chain" and not example.fed and trial < INSIST:  # some tools can do no better
        raise Rejected("No step needs what another one shows.")
    if not is_dependent(example, strays="second_goal" in example.features):
        raise Rejected("A later step rests on nothing before it.")
    validate(example)
    return example


def require_unserved(world: World, teacher: Dialogue, graph: nx.DiGraph) -> None:
    """Raise Rejected where the shown tools serve the request whose tool is hidden, or where that cannot be searched."""
    try:
        found = search_for_plan(world, teacher.plan, teacher.task.candidates, graph)
    except Unsearchable as reason:
        raise Rejected(f"The request cannot be searched: {reason}") from None
    if found.exhausted:
        raise Rejected("Whether another tool serves this was not found out within the calls of a search.")
    if found.served:
        raise Rejected(f"Another tool serves this: {', '.join(call.name for call in found.by)}.")


def servers_of(tools: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({TOOLS[name][0].name for name in tools}))


def look_around(world: World, chain: tuple[str, ...], asked: Wanted, recipe: Recipe, draw: Draw) -> Context:
    """What the queries may be grounded on: what the world's read-only tools show now, or showed not long ago."""
    shared, refresh = recipe.shared(asked.split), recipe.knobs.refresh
    if not (shared and refresh):
        return sample(world.fork(), draw)
    epoch = asked.index // shared // refresh
    return contexts(world, servers_of(chain), epoch).narrowed(chain)
