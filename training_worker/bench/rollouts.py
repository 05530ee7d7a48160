"""Rollouts of a scripted policy, run in real worlds and scored: a training batch, and the comparison with verifiers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from pathlib import Path

from mcp_servers.catalogue import fingerprint

from ..chat.protocol import HERMES
from ..core.trajectory import Example, Rollout, Step, ToolCall, WorldRef, write_lines
from ..datasets.recipes import PLANS
from ..environment.episode import Attempt
from ..graph.dependency_graph import load_or_build
from ..synthesis.shards import Draws

PROMPTS, GROUP = 16, 16  # the paper's batch
LONGEST = 4  # steps of a conversation, at least
CALLS = 5  # of a rollout in the comparison with verifiers
TASKS = "rollouts.jsonl"
Script = tuple[Example, tuple[str, ...]]


def conversations(folder: Path) -> list[Example]:
    """Return the first examples of the recipe `1k` with long chains. The graph is stored in the folder."""
    draws = Draws(load_or_build(folder), PLANS["1k"].recipe, "train")
    made = (draws.make_result(index, None, None).example for index in range(20 * PROMPTS))
    return list(islice((one for one in made if one and len(one.steps) >= LONGEST), PROMPTS))


def light() -> Example:
    """Return an example with five calls that cost next to nothing."""
    where, name = WorldRef(7, ("banking",)), "list_accounts"
    return Example(
        id="light",
        kind="chain",
        split="train",
        world=where,
        turns=("Which accounts do I have?",),
        steps=(Step((ToolCall(name, {}),)),) * CALLS,
        edges=(),
        candidates=(name,),
        answers=("Done.",),
        digests=(),
        fingerprint=fingerprint(where.servers),
    )


def calls_of(example: Example, count: int) -> list[ToolCall]:
    """Return the calls of its ground truth, repeated until there are `count`."""
    return list(islice(cycle(call for step in example.steps for call in step.calls), count))


def script(example: Example, count: int, together: int = 1) -> Script:
    """Return the turns of a policy that makes `count` calls, `together` of them in one turn, and then answers."""
    made = calls_of(example, count)
    turns = (HERMES.write(made[start : start + together]) for start in range(0, count, together))
    return example, (*turns, *example.answers)


def roll(example: Example, texts: Sequence[str]) -> Rollout:
    """Run one rollout, from a fresh world to its reward."""
    attempt = Attempt(example)
    for text in texts:
        attempt.answer(text)
    return attempt.finish()


def seconds_of(scripts: Sequence[Script], clock: Callable[[], float]) -> float:
    """Return the seconds of one rollout, in a batch with a group for each script."""
    start = clock()
    for example, texts in scripts:
        for _ in range(GROUP):
            roll(example, texts)
    return (clock() - start) / (GROUP * len(scripts))


def batch(examples: Sequence[Example]) -> float:
    """Return the CPU seconds of a batch of rollouts with ten calls each, two in a turn."""
    scripts = [script(example, 10, 2) for example in examples]
    for one in scripts:
        made = roll(*one)
        assert made.valid and made.end == "answered" and len(made.calls) == 10, made.error
    return min(seconds_of(scripts, time.process_time) for _ in range(3)) * GROUP * len(scripts)


def leave_tasks(folder: Path, examples: Sequence[Example]) -> Path:
    """Write a file with the worlds and calls of these examples, for a peer that makes the same calls."""
    path = folder / TASKS
    write_lines(path, [{"world": one.world, "calls": calls_of(one, CALLS)} for one in examples])
    return path
