"""Conversations of the live servers with all knobs of the paper turned, made once."""

from __future__ import annotations

from functools import cache

from tests.prove.known import known_graph
from training_worker.prove.synthesis.conversation import Recipe, make
from training_worker.prove.synthesis.knobs import PAPER
from training_worker.prove.trajectory import Example


@cache
def conversations() -> tuple[Example, ...]:
    made = (make(index, "held_out", known_graph(), Recipe(knobs=PAPER))[0] for index in range(40))
    return tuple(example for example in made if example)
