"""Conversations of the live servers with all knobs of the paper turned, made once."""

from __future__ import annotations

from functools import cache

from tests.prove.known import known_graph
from training_worker.core.trajectory import Example
from training_worker.synthesis.conversation import Recipe, make
from training_worker.synthesis.knobs import PAPER


@cache
def conversations() -> tuple[Example, ...]:
    made = (make(index, "held_out", known_graph(), Recipe(knobs=PAPER))[0] for index in range(40))
    return tuple(example for example in made if example)
