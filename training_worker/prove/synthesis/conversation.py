"""One conversation from a seed: world, chain, knobs, teacher, validation; or a reason why this draw gave none."""

from __future__ import annotations

from dataclasses import dataclass, field

import networkx as nx

from mcp_servers.catalogue import TOOLS, fingerprint
from mcp_servers.kit import Draw
from mcp_servers.kit.draw import FIRST_HELD_OUT_SEED
from mcp_servers.world import World

from ..trajectory import Example, Kind, Split, Step, ToolCall, WorldRef
from .chains import LENGTHS, draw_chain
from .knobs import Knobs, draw_candidates, draw_kind
from .language import ABSTENTIONS, sentence
from .sampler import NothingFits, sample
from .teacher import Done, StepRefused, run_chain, split_turns, word_turns
from .validate import Rejected, hidden_edges, validate

TRIES, INSIST = 12, 9  # trials of an index, and how many of them keep to the length it is meant to have
WORLDS_PER_DATASET = 20_000_000
LAST_SEED = 40


@dataclass(frozen=True)
class Recipe:
    """What a data set is made by. `seed` (0 to 40) sets its worlds apart from those of other seeds; with `implicit`
    chains follow implicit edges too, which the small policy that comes with the site was not shown.

    `worlds` and `held_out_worlds` are how many worlds the conversations of a split share; 0 gives each one of its own.
    With `even` the lengths from 2 to 5 come equally often, as far as worlds and graph allow.
    """

    seed: int = 0
    size: str = "small"
    implicit: bool = False
    even: bool = False
    worlds: int = 0
    held_out_worlds: int = 0
    knobs: Knobs = field(default_factory=Knobs)

    def __post_init__(self) -> None:
        if not 0 <= self.seed <= LAST_SEED:
            raise ValueError(f"A recipe's seed is 0 to {LAST_SEED}, not {self.seed}: further on lie held-out worlds.")

    def world(self, split: Split, index: int, trial: int) -> int:
        """The seed of the world in which this trial of a conversation is made."""
        first = self.seed * WORLDS_PER_DATASET + (FIRST_HELD_OUT_SEED if split == "held_out" else 0)
        shared, own = self.held_out_worlds if split == "held_out" else self.worlds, index * TRIES + trial
        return first + (own % shared if shared else own)


def make(
    index: int,
    split: Split,
    graph: nx.DiGraph,
    recipe: Recipe,
    kind: Kind | None = None,
    target: str | None = None,
) -> tuple[Example | None, list[str]]:
    """The example of this index, which depends on nothing but what is given; and why draws were dropped.

    Without a target the index names the tool the chain is drawn around, so that all tools of the graph are asked for
    equally often. Without a kind one is drawn.
    """
    dropped: list[str] = []
    tools = list(graph)
    about = target or tools[index % len(tools)]
    length = Draw("length", recipe.seed, split, index).choice(list(LENGTHS)) if recipe.even else None
    id = f"{split}-{recipe.seed}-{index:06d}"
    for trial in range(TRIES):
        draw = Draw("conversation", recipe.seed, split, index, trial)
        seed, asked = recipe.world(split, index, trial), length if trial < INSIST else None
        try:
            return converse(id, about, seed, split, graph, recipe, draw, kind, asked), dropped
        except (NothingFits, StepRefused, Rejected) as reason:
            dropped.append(f"{type(reason).__name__}: {reason}")
    return None, dropped


def converse(
    id: str,
    target: str,
    seed: int,
    split: Split,
    graph: nx.DiGraph,
    recipe: Recipe,
    draw: Draw,
    kind: Kind | None = None,
    length: int | None = None,
) -> Example:
    """Draw, run and validate one conversation; raises NothingFits, StepRefused or Rejected."""
    kind = kind or draw_kind(recipe.knobs, draw)
    chain = draw_chain(graph, target, draw, recipe.implicit, length)
    if length and len(chain) < length:
        raise NothingFits(f"There is no chain of {length} around {target}.")
    candidates = draw_candidates(chain, kind, recipe.knobs, draw, graph)
    servers = tuple(sorted({TOOLS[name][0].name for name in (*candidates, *chain)}))
    world = World.open(seed, servers, recipe.size)
    context = sample(world.fork(), draw)
    opening = world.digest()
    done = run_chain(chain, graph, world, context, draw)
    turns, steps, edges = told(kind, done, draw)
    example = Example(
        id=id,
        kind=kind,
        split=split,
        world=WorldRef(seed, servers, recipe.size),
        turns=turns,
        steps=steps,
        edges=edges,
        candidates=candidates,
        answers=answers(kind, steps, len(turns), draw),
        digests=(opening, *(step.digest for step in done)) if steps else (opening,),
        fingerprint=fingerprint(servers),
        enums_stripped=draw.chance(recipe.knobs.enum_stripping),
    )
    example = hidden_edges(example)
    validate(example)
    return example


def told(
    kind: Kind, done: list[Done], draw: Draw
) -> tuple[tuple[str, ...], tuple[Step, ...], tuple[tuple[int, int], ...]]:
    """The user turns, the ground-truth steps and their edges; without steps when the right act is to call nothing."""
    if kind != "chain":
        return (sentence([done[-1].alone()], draw, first=True),), (), ()
    turn_of = split_turns(done, draw)
    steps = tuple(
        Step((ToolCall(step.tool, step.arguments),), turn, (step.text,))
        for step, turn in zip(done, turn_of, strict=True)
    )
    edges = sorted({(source, position) for position, step in enumerate(done) for source in step.fed_by.values()})
    return word_turns(done, turn_of, draw), steps, tuple(edges)


def answers(kind: Kind, steps: tuple[Step, ...], turns: int, draw: Draw) -> tuple[str, ...]:
    """The assistant's closing words of each turn."""
    if kind != "chain":
        return (draw.choice(ABSTENTIONS),)
    last = [[step for step in steps if step.turn == turn][-1].calls[-1].name for turn in range(turns)]
    return tuple("Done." if TOOLS[name][1].writes else "Here is what I found." for name in last)
