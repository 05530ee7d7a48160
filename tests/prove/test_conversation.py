"""Conversations: every one replays, its oracle is perfect, and what the user says is enough to act on."""

from __future__ import annotations

import networkx as nx
import pytest

from tests.prove.known import RECIPE, TOOLS
from training_worker.core.trajectory import Example
from training_worker.environment.episode import oracle
from training_worker.synthesis.conversation import Recipe, make
from training_worker.synthesis.knobs import TINY
from training_worker.synthesis.validate import validate


def test_every_example_is_valid_and_its_oracle_scores_the_most_there_is(examples: tuple[Example, ...]) -> None:
    for example in examples:
        validate(example)
        rollout = oracle(example)
        assert rollout.reward is not None and rollout.end == "answered"
        assert rollout.reward.total == pytest.approx(1.0 if example.abstains else 1.3), example.id
        assert rollout.digest == example.digests[-1]


def test_almost_every_index_gives_an_example(examples: tuple[Example, ...], held_out: tuple[Example, ...]) -> None:
    assert len(examples) >= 118 and len(held_out) >= 59  # of 120 and 60


def test_turns_come_in_order_and_each_has_work_and_an_answer(chains: list[Example]) -> None:
    for example in chains:
        order = [step.turn for step in example.steps]
        assert order == sorted(order) and set(order) <= set(range(len(example.turns)))
        assert len(example.answers) == len(example.turns)
        assert len(example.digests) == len(example.steps) + 1


def test_a_step_depends_on_earlier_steps_only(chains: list[Example]) -> None:
    for example in chains:
        assert all(0 <= giver < taker < len(example.steps) for giver, taker in example.edges)
        assert list(example.edges) == sorted(set(example.edges))


def test_the_digest_moves_with_a_write_and_only_then(chains: list[Example]) -> None:
    for example in chains:
        for position, step in enumerate(example.steps):
            moved = example.digests[position] != example.digests[position + 1]
            assert moved == any(TOOLS[call.name][1].writes for call in step.calls), (example.id, position)


def test_an_example_depends_on_its_index_alone(graph: nx.DiGraph, examples: tuple[Example, ...]) -> None:
    for example in examples[150:155]:
        again, _ = make(int(example.id.rsplit("-", 1)[1]), "train", graph, RECIPE)
        assert again == example


def test_recipes_with_other_seeds_open_other_worlds(graph: nx.DiGraph) -> None:
    worlds = [make(8, "train", graph, Recipe(seed, knobs=TINY))[0] for seed in range(4)]
    assert len({example.world.seed for example in worlds if example}) == 4


@pytest.mark.parametrize("seed", [-1, 41, 50])
def test_a_seed_whose_worlds_would_be_held_out_is_refused(seed: int) -> None:
    with pytest.raises(ValueError, match="held-out worlds"):
        Recipe(seed, knobs=TINY)


def test_almost_all_tools_are_called(chains: list[Example]) -> None:
    used = {call.name for example in chains for step in example.steps for call in step.calls}
    assert len(used) > 0.9 * len(TOOLS)


def test_a_dropped_draw_says_why(graph: nx.DiGraph) -> None:
    reasons = [reason for index in range(40) for reason in make(index, "train", graph, RECIPE)[1]]
    assert reasons
    assert all(reason.split(": ", 1)[0] in ("NothingFits", "StepRefused", "Rejected") for reason in reasons)
