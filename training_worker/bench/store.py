"""The store of rollouts: the size and write time of a step of the paper's size, and reading one and many rollouts.

The rollouts are of a scripted policy on real worlds: the ground truth, with useless calls in between.
"""

from __future__ import annotations

import random
import statistics
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..chat.protocol import write_calls
from ..core.trajectory import Example, Rollout, ToolCall, dumps
from ..datasets.recipes import PLANS
from ..environment.episode import Attempt, demonstration
from ..graph.dependency_graph import load_or_build
from ..store.folder import RolloutFolder, read_one, read_rollouts
from ..store.record import RolloutRecord, Tokens
from ..synthesis.shards import Draws
from .servers import seconds

PROMPTS, GROUP, STEPS = 16, 16, 350  # the paper's
STRAY = 0.3  # how often a useless call comes before a useful one
MANY = 10_000
SEED = 7


@dataclass(frozen=True)
class StoreMeasurement:
    """Bytes per rollout as JSON and in the store; seconds to store a step, to read one rollout, and to read many."""

    plain: float
    stored: float
    keep_s: float
    one_s: float
    many_s: float


def measure(graph: Path) -> StoreMeasurement:
    """Return medians; each reading opens its file again. The graph is stored in this folder."""
    step = rollouts(graph)
    with tempfile.TemporaryDirectory() as place:
        folder = RolloutFolder(Path(place))
        keep = statistics.median(seconds(partial(folder.store, 1, step, "none"), 1) for _ in range(7))
        one = statistics.median(seconds(partial(read_one, folder, 1, index), 1) for index in range(1, len(step) + 1))
        times = -(-MANY // len(step))
        many = seconds(lambda: sum(1 for _ in read_rollouts(folder, [1] * times)), 1)
        size = folder.file(1).stat().st_size
    plain = sum(len(dumps(each.rollout)) for each in step)
    return StoreMeasurement(plain / len(step), size / len(step), keep, one, many * MANY / (times * len(step)))


def rollouts(graph: Path) -> list[RolloutRecord]:
    """Return one step of the paper's size."""
    draws, chance = Draws(load_or_build(graph), PLANS["1k"].recipe, "train"), random.Random(SEED)
    drawn = (one.example for one in draws.make([(place, None, None) for place in range(8 * PROMPTS)]))
    examples = [example for example in drawn if example is not None and not example.abstains][:PROMPTS]
    nothing = Tokens(prompt_ids=(), completion_ids=(), env_mask=(), logprobs=())
    return [
        RolloutRecord(rollout=play(example, chance), group=number, advantage=chance.random(), tokens=nothing)
        for number, example in enumerate(examples, 1)
        for _ in range(GROUP)
    ]


def play(example: Example, chance: random.Random) -> Rollout:
    attempt = Attempt(example)
    for message in demonstration(example):
        if message.role != "assistant" or attempt.over:
            continue
        while chance.random() < STRAY and not attempt.over:
            name = example.candidates[int(chance.random() * len(example.candidates))]
            attempt.answer(write_calls([ToolCall(name, {"query": str(chance.random())})]))
        if not attempt.over:
            attempt.answer(message.content)
    return attempt.finish()
