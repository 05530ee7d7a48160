"""CPU seconds to rescore stored rollouts, by form; and microseconds of a reward at the end of a rollout."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from mcp_servers.catalogue import SERVERS

from ..core.trajectory import Example, Rollout
from ..datasets.recipes import PLANS
from ..environment.episode import Attempt, demonstration
from ..environment.reward_replay import rescore
from ..graph.dependency_graph import load_or_build
from ..reward import PRESETS, RewardConfig, reward_of
from ..reward.state_diff import forget_truths
from ..synthesis.shards import Draws

EXAMPLES, GROUP, ROUNDS = 625, 16, 5  # 10,000 rollouts, about forty steps of the paper's batch
DIFFERENT = 4  # rollouts of a group; the others are copies, which are scored all the same
FORMS = {
    **{name: PRESETS[name] for name in ("paper", "graduated", "trace_state", "final_state")},
    "every term": RewardConfig(final_state=0.3, provenance=0.2, repeats=0.1),
}
Scored = tuple[Example, Rollout]


def per_form(folder: Path) -> tuple[dict[str, float], dict[str, float]]:
    """Return, by form, CPU seconds for all rollouts in unopened worlds, and microseconds for one in open worlds."""
    scored = list(rollouts(folder))
    examples = {example.id: example for example, _ in scored}
    seconds = {name: time_rescoring(examples, [one for _, one in scored], config) for name, config in FORMS.items()}
    return seconds, {name: live(scored[:: GROUP - 1], config) for name, config in FORMS.items()}


def time_rescoring(examples: dict[str, Example], stored: list[Rollout], config: RewardConfig) -> float:
    forget_worlds()
    start = time.process_time()
    for _ in rescore(examples, stored, config):
        pass
    return time.process_time() - start


def live(scored: list[Scored], config: RewardConfig) -> float:
    """Return the median over rounds, after a first one that opens the worlds."""
    rounds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        for example, rollout in scored:
            reward_of(example, rollout, config)
        rounds.append((time.process_time() - start) / len(scored) * 1e6)
    return statistics.median(rounds[1:])


def forget_worlds() -> None:
    """Reset to the state of a new process: no world is open, and no ground truth was run."""
    forget_truths()
    for server in SERVERS.values():
        server.opening.cache_clear()


def rollouts(folder: Path) -> Iterator[Scored]:
    """Yield groups of real rollouts by the recipe `1k`: each makes the ground truth's calls, some with errors."""
    draws = Draws(load_or_build(folder), PLANS["1k"].recipe, "train")
    made, index = 0, 0
    while made < EXAMPLES:
        if example := draws.make_result(index, None, None).example:
            made += 1
            some = [
                (example, play_perturbed_demonstration(example, random.Random(f"{index}/{place}")))
                for place in range(DIFFERENT)
            ]
            yield from some * (GROUP // DIFFERENT)
        index += 1


def play_perturbed_demonstration(example: Example, draw: random.Random) -> Rollout:
    """Play the demonstration with turns that are omitted, repeated or have a wrong value, each once in ten times."""
    attempt = Attempt(example)
    for message in demonstration(example):
        if message.role != "assistant" or attempt.over:
            continue
        text, chance = message.content, draw.random()
        calls = "<tool_call>" in text
        for _ in range((chance >= 0.1) + (0.1 <= chance < 0.2) if calls else 1):
            if not attempt.over:
                attempt.answer(text.replace('": "', '": "x', 1) if calls and chance > 0.9 else text)
    return attempt.finish()
