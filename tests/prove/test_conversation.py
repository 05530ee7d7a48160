"""Conversations: every one replays, its oracle is perfect, and what the user says is enough to act on."""

from __future__ import annotations

import re
from collections.abc import Iterable

import networkx as nx
import pytest

from mcp_servers.catalogue import TOOLS
from training_worker.prove.identifiers import EMAIL, ID, NAME, identifiers
from training_worker.prove.rollout import oracle
from training_worker.prove.shapes import found_in
from training_worker.prove.synthesis.conversation import Recipe, make
from training_worker.prove.synthesis.knobs import Knobs
from training_worker.prove.synthesis.language import ABSTENTIONS, spoken
from training_worker.prove.synthesis.validate import succeeds, validate
from training_worker.prove.trajectory import Example, Step, ToolCall, dumps, loads
from mcp_servers.world import World


def given_before(step: int, example: Example) -> set[str]:
    """The ids that steps before this one gave."""
    import json

    earlier = [
        found.id
        for one in example.steps[:step]
        for call, text in zip(one.calls, one.observations, strict=True)
        for found in found_in(call.name, json.loads(text))
    ]
    return set(earlier)


def said_by(turn: int, example: Example) -> str:
    return " ".join(example.turns[: turn + 1]).lower()


def test_every_example_is_valid_and_its_oracle_scores_the_most_there_is(examples: tuple[Example, ...]) -> None:
    for example in examples:
        validate(example)
        rollout = oracle(example)
        assert rollout.reward is not None and rollout.end == "answered"
        assert rollout.reward.total == pytest.approx(1.0 if example.abstains else 1.3), example.id
        assert rollout.digest == example.digests[-1]


def test_almost_every_index_gives_an_example(examples: tuple[Example, ...]) -> None:
    assert len(examples) >= 195
