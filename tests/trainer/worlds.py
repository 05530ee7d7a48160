"""Conversations of the live servers with all knobs of the paper turned, made once."""

from __future__ import annotations

from functools import cache

from training_worker.prove.graph import build
from training_worker.prove.synthesis.conversation import Recipe, make
from training_worker.prove.synthesis.knobs import PAPER
from training_worker.prove.trajectory import Example
from training_worker.warm import SERVERS as WARM_SERVERS


@cache
def conversations() -> tuple[Example, ...]:
    graph = build(servers=WARM_SERVERS)
    made = (make(index, "held_out", graph, Recipe(knobs=PAPER))[0] for index in range(40))
    return tuple(example for example in made if example)
