"""The parts of a training step: environment, reward, generation and update, in a short run on this CPU."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from shutil import rmtree
from typing import Any

from ..core.models import SHIPPED
from ..core.trajectory import Example, Message, Rollout, write_lines
from ..core.warm import SERVERS
from ..datasets.recipes import PLANS
from ..environment.episode import Attempt
from ..graph.dependency_graph import load_or_build
from ..synthesis.shards import Draws

EXAMPLES, STEPS, THREADS = 60, 7, 2
PROMPTS, GROUP = 8, 8
BATCH = f"{PROMPTS} x {GROUP} rollouts, medians of {STEPS - 1} steps after the first, {THREADS} threads"
Parts = dict[str, float]


def parts(folder: Path) -> Parts:
    """Return median seconds per part of a step. The graph of the warm policy's servers is stored in the folder."""
    from ..training.grpo import GRPORun, train

    out = folder / "step"
    rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    write_lines(out / "train.jsonl", conversations(folder / "graph"))
    steps: list[Parts] = []
    spent = {"environment": 0.0, "reward": 0.0}

    @contextmanager
    def time_part(part: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        spent[part] += time.perf_counter() - start

    class TimedEpisode(Attempt):
        def __init__(self, *given: Any, **named: Any):
            with time_part("environment"):
                super().__init__(*given, **named)

        def answer(self, text: str, *, truncated: bool = False) -> tuple[Message, ...]:
            with time_part("environment"):
                return super().answer(text, truncated=truncated)

        def finish(self) -> Rollout:
            with time_part("reward"):
                return super().finish()

    def on_event(event: dict[str, Any]) -> None:
        if event["event"] == "step":
            generation = event["rollout_s"] - sum(spent.values())
            steps.append({**spent, "generation": generation, "update": event["update_s"]})
            spent.update(dict.fromkeys(spent, 0.0))

    run = GRPORun(
        policy=SHIPPED,
        data=out / "train.jsonl",
        out=out / "run",
        prompts=PROMPTS,
        group=GROUP,
        max_steps=STEPS,
        threads=THREADS,
    )
    train(run, on_event, attempt=TimedEpisode)
    return {name: statistics.median(one[name] for one in steps[1:]) for name in steps[0]}


def conversations(graph: Path) -> list[Example]:
    """Return conversations on servers that the warm policy knows."""
    draws = Draws(load_or_build(graph, servers=SERVERS), PLANS["1k"].recipe, "train")
    made = (draws.make_result(index, None, None).example for index in range(5 * EXAMPLES))
    return list(islice(filter(None, made), EXAMPLES))
