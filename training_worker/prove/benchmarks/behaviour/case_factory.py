"""The cases of a behaviour, made from a seed alone: conversations drawn, and something planted in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from mcp_servers.kit import Draw

from ...synthesis.conversation import SPREAD, Wanted, converse
from ...synthesis.sampler import NothingFits, StepRefused
from ...synthesis.shards import Draws
from ...synthesis.state_machine import Stuck
from ...synthesis.validate import Rejected
from ...trajectory import Example
from ..worlds.options import BadOption, Making
from ..worlds.task_sampler import draws_of, first, indices
from .case import Behaviour, Case

TRIALS = 4  # of an index


def cases(behaviour: Behaviour, making: Making, graphs: Path, number: int) -> dict[str, Case]:
    """By id up to as many cases as are wanted; `number` is the behaviour's, and sets its worlds apart.

    Raises BadOption where these servers give none.
    """
    found: dict[str, Case] = {}
    if len(making.servers) >= behaviour.fewest_servers:
        draws = draws_of(making, graphs, making.servers, behaviour.knobs)
        made = drawn(behaviour, draws, making, number, found)
        kept = first(making.count, made)
        found = {example.id: found[example.id] for example in kept}
    if not found:
        raise BadOption(f"{', '.join(making.servers)} give nothing to test {behaviour.name} with: name more servers.")
    return found


def drawn(behaviour: Behaviour, draws: Draws, making: Making, number: int, found: dict[str, Case]) -> Iterator[Example]:
    """Conversations that lend themselves, one after another; their cases are noted in `found`."""
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
    """The conversation of an index, about each tool in turn; None where no trial gives one."""
    tools = list(draws.graph)
    about = tools[index * (SPREAD if len(tools) % SPREAD else 1) % len(tools)]
    asked = Wanted(index, "held_out", about, behaviour.kind, behaviour.level)
    for trial in range(TRIALS):
        try:
            return converse(asked, trial, draws.graph, draws.recipe)
        except (NothingFits, StepRefused, Rejected, Stuck):
            continue
    return None
