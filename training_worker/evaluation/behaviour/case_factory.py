"""Cases of a behaviour, made from a seed alone: drawn conversations with a catch added to each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from mcp_servers.core import Draw

from ...core.trajectory import Example
from ...graph.sampler import NothingFits, StepRefused
from ...synthesis.conversation import SPREAD, ConversationRequest, converse
from ...synthesis.shards import Draws
from ...synthesis.state_machine import Stuck
from ...synthesis.validate import Rejected
from ..worlds.options import BadOption, WorldOptions
from ..worlds.task_sampler import draws_of, indices, take_distinct_examples
from .case import Behaviour, Case

TRIALS = 4  # per index


def cases(behaviour: Behaviour, making: WorldOptions, graphs: Path, number: int) -> dict[str, Case]:
    """Return up to `making.count` cases by id; `number` is the behaviour's and separates its worlds from the others'.

    Raises BadOption where these servers give no case.
    """
    found: dict[str, Case] = {}
    if len(making.servers) >= behaviour.fewest_servers:
        draws = draws_of(making, graphs, making.servers, behaviour.knobs)
        made = generate_cases(behaviour, draws, making, number, found)
        examples = take_distinct_examples(making.count, made)
        found = {example.id: found[example.id] for example in examples}
    if not found:
        raise BadOption(f"No case of {behaviour.name} can be made with {', '.join(making.servers)}: name more servers.")
    return found


def generate_cases(
    behaviour: Behaviour, draws: Draws, making: WorldOptions, number: int, found: dict[str, Case]
) -> Iterator[Example]:
    """Yield the suitable conversations and add their cases to `found`."""
    for index in indices(number, making.count):
        example = conversation(behaviour, draws, index)
        if example is None:
            continue
        own = replace(example, id=f"{behaviour.name.replace(' ', '-')}-{making.seed}-{index:06d}")
        case = behaviour.cast(own, Draw("behaviour", making.seed, index))
        if case:
            found[own.id] = case
            yield case.example


def conversation(behaviour: Behaviour, draws: Draws, index: int) -> Example | None:
    """Return the conversation of an index, with the tools taken in turn; None where no trial gives one."""
    tools = list(draws.graph)
    about = tools[index * (SPREAD if len(tools) % SPREAD else 1) % len(tools)]
    wanted = ConversationRequest(index, "held_out", about, behaviour.kind, behaviour.level)
    for trial in range(TRIALS):
        try:
            return converse(wanted, trial, draws.graph, draws.recipe)
        except (NothingFits, StepRefused, Rejected, Stuck):
            continue
    return None
