"""Synthesis of one conversation from a seed: world, chain, knobs, teacher, validation, or a reason for dropping it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import networkx as nx

from mcp_servers.catalogue import TOOLS, fingerprint
from mcp_servers.core import Draw
from mcp_servers.core.rng import FIRST_HELD_OUT_SEED
from mcp_servers.world import World

from ..core.trajectory import Example, Kind, Level, Split, WorldRef
from ..endpoint import Endpoint
from ..graph.result_schema import values_in
from ..graph.sampler import NothingFits, StepRefused
from .alternatives import find_alternatives
from .answer_numbers import unproven_numbers
from .clarification import Clarification, draw_sort
from .decline_proof import EXHAUSTED, SERVED, UNSEARCHABLE, Unsearchable, search_for_plan
from .dependence import is_dependent, with_edges
from .dialogue import Dialogue
from .knobs import Knobs, draw_kind, draw_servers, draw_toolset
from .language_model import write_texts
from .state_machine import Lesson, Stuck, Task, run_conversation
from .teachers import endpoint
from .validate import Rejected, validate

FEWEST_STEPS = 2  # per chain
TRIES, INSIST = 12, 9  # trials per index, and those that require a step fed by another one
KNOWN = 0.6  # largest share of a hidden read's values that one earlier observation may show
WORLDS_PER_DATASET = 20_000_000
LAST_SEED = 40
SPREAD = 101  # step through the tools per index, so that a few conversations cover many servers


@dataclass(frozen=True)
class Recipe:
    """The settings of a dataset. `seed` (0 to 40) separates its worlds from those of other seeds.

    `worlds` and `held_out_worlds` are how many worlds the conversations of a split share; 0 gives each its own.
    `teacher` is the name of a language model at an endpoint that words the conversations; without one, the scripted
    texts remain.
    """

    seed: int = 0
    size: str = "small"
    worlds: int = 0
    held_out_worlds: int = 0
    knobs: Knobs = field(default_factory=Knobs)
    teacher: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.seed <= LAST_SEED:
            raise ValueError(f"A recipe's seed is 0 to {LAST_SEED}, not {self.seed}: higher ones are held-out worlds.")

    def world(self, split: Split, index: int, trial: int) -> int:
        """Return the seed of the world for this trial of a conversation."""
        first = self.seed * WORLDS_PER_DATASET + (FIRST_HELD_OUT_SEED if split == "held_out" else 0)
        shared = self.count_shared_worlds(split)
        return first + ((index + trial) % shared if shared else index * TRIES + trial)

    def count_shared_worlds(self, split: Split) -> int:
        """Return how many worlds the conversations of a split share, or 0."""
        return self.held_out_worlds if split == "held_out" else self.worlds


@dataclass(frozen=True)
class ConversationRequest:
    """The specification of a draw: its index and split, the tool it is about, and kind and level (kind None: drawn)."""

    index: int
    split: Split
    about: str
    kind: Kind | None = None
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
    """Return the example of this index, or None, and the reasons of dropped trials. It depends only on the arguments.

    Without a target, the index selects the tool the chain is drawn around, so that all tools of the graph occur equally
    often. Without a kind, one is drawn. A language model words the conversation where the recipe names one as teacher,
    or one is given. Raises EndpointFailed.
    """
    dropped: list[str] = []
    if recipe.teacher and model is None:
        model = endpoint(recipe.teacher)
    tools, knobs = list(graph), recipe.knobs
    spread = SPREAD if len(tools) % SPREAD else 1
    about = target or tools[index * spread % len(tools)]
    level = Draw("level", recipe.seed, split, index).choose_weighted(tuple(knobs.levels), tuple(knobs.levels.values()))
    for trial in range(TRIES):
        wanted = ConversationRequest(index, split, about, kind, level if kind in (None, "chain") else "complete")
        if trial >= TRIES // 3:
            wanted = replace(wanted, level="complete")
        try:
            example = converse(wanted, trial, graph, recipe)
        except (NothingFits, StepRefused, Rejected, Stuck) as reason:
            dropped.append(f"{type(reason).__name__}: {reason}")
        else:
            return write_texts(example, model) if model else example, dropped
    return None, dropped


def converse(wanted: ConversationRequest, trial: int, graph: nx.DiGraph, recipe: Recipe) -> Example:
    """Plan, run and validate one conversation. Raises NothingFits, StepRefused, Rejected or Stuck."""
    key = (recipe.seed, wanted.split, wanted.index, trial)
    draw, manner, knobs = Draw("conversation", *key), Draw("manner", *key), recipe.knobs
    kind = wanted.kind or draw_kind(knobs, draw)
    sort, size = draw_sort(knobs, recipe.seed, wanted.split, wanted.index), recipe.size
    level: Level = wanted.level if kind == "chain" else "complete"
    if kind == "missing_function":
        level = "missing" if sort == "asked" else level
        size = "small" if sort == "looked_up" else size  # there, more lists have a single entity
    chain = tuple(graph.graph.get("chain", (wanted.about,)))
    about = chain[-1]
    task = Task(kind, chain if kind == "chain" else (about,), (), level, manner.choice(knobs.personas), sort)
    own = servers_of(chain) if len(chain) > 1 else draw_servers(graph, about, knobs, draw)
    candidates = draw_toolset(graph, own, kind if task.abstains else "chain", about, knobs, draw)
    if not candidates:
        raise NothingFits(f"No tool is left to offer besides {about}.")
    servers = servers_of((*candidates, *(name for name in graph if TOOLS[name][0].name in own)))
    world = World.open(recipe.world(wanted.split, wanted.index, trial), servers, size)
    task = replace(task, candidates=candidates)
    lesson = Lesson(task, graph, world, knobs, draw, manner, own)
    teacher = Clarification(lesson) if kind == "missing_function" else Dialogue(lesson)
    if teacher.hidden is not None:
        require_unserved(world, teacher, graph, teacher.hidden)
    talk = run_conversation(teacher, world)
    if task.abstains == bool(talk.steps):
        raise Rejected(f"{len(talk.steps)} steps were made where {'none is' if task.abstains else 'some are'} due.")
    example = Example(
        id=f"{wanted.split}-{recipe.seed}-{wanted.index:06d}",
        kind=kind,
        split=wanted.split,
        world=WorldRef(world.seed, servers, size),
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
        arrivals=talk.task.arrivals,
    )
    example = with_edges(example)
    require_dependence(example, insist=trial < INSIST)
    if not example.abstains and (unproven := unproven_numbers(example)):
        raise Rejected(f"An answer has a number without a source: {unproven[0]}.")
    example = replace(example, alternatives=find_alternatives(example, teacher.lookups))
    validate(example)
    return example


def require_dependence(example: Example, insist: bool) -> None:
    """Raise Rejected unless steps depend on each other; `insist` requires that one feeds another."""
    complete = not example.abstains and "partly" not in example.features
    if complete and len(example.steps) < FEWEST_STEPS:
        raise Rejected("Everything is done in one step.")
    if complete and insist and not example.fed:  # some tools allow no fed step
        raise Rejected("No step uses the observation of another one.")
    if not is_dependent(example, strays="second_goal" in example.features):
        raise Rejected("A later step depends on no earlier step.")


def require_unserved(world: World, teacher: Dialogue, graph: nx.DiGraph, position: int) -> None:
    """Raise Rejected where the offered tools serve the wish whose tool is hidden.

    Also raise it where an earlier observation has most of the answer, or where the search is not possible.
    """
    calls = teacher.plan.calls
    hidden = next((call for call in calls if call.wish == position % len(teacher.plan.wishes)), None)
    if hidden and not hidden.writes:
        results = [{*values_in(json.loads(call.text))} for call in calls[: calls.index(hidden)]]
        wanted = {*values_in(json.loads(hidden.text))}
        if any(len(wanted & one) >= KNOWN * len(wanted) for one in results):
            raise Rejected(f"{SERVED}: an earlier observation.")
    try:
        found = search_for_plan(world, teacher.plan, teacher.task.candidates, graph, position)
    except Unsearchable as reason:
        raise Rejected(f"{UNSEARCHABLE}: {reason}") from None
    if found.exhausted:
        raise Rejected(EXHAUSTED)
    if found.served:
        raise Rejected(f"{SERVED}: {', '.join(call.name for call in found.by)}.")


def servers_of(tools: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({TOOLS[name][0].name for name in tools}))
