"""Conversations: every one replays, its oracle is perfect, and what the user says is enough to act on."""

from __future__ import annotations

import json
import re

import networkx as nx
import pytest

from tests.prove.known import TOOLS
from training_worker.prove.provenance import says, spoken
from training_worker.prove.rollout import oracle
from training_worker.prove.shapes import found_in
from training_worker.prove.synthesis.conversation import Recipe, make
from training_worker.prove.synthesis.language import ABSTENTIONS
from training_worker.prove.synthesis.planner import noun
from training_worker.prove.synthesis.validate import validate
from training_worker.prove.trajectory import Example

ID_TYPES = sorted({id_type for _, tool in TOOLS.values() for id_type in (*tool.ids.values(), *tool.produces)})
POINTERS = re.compile(rf"\bthat (?:{'|'.join(map(noun, ID_TYPES))})\b", re.I)


def fed(example: Example, position: int) -> set[str]:
    """The ids that the steps this one depends on gave."""
    givers = [example.steps[giver] for giver, taker in example.edges if taker == position]
    return {
        found.id
        for step in givers
        for call, text in zip(step.calls, step.observations, strict=True)
        for found in found_in(call.name, json.loads(text))
    }


def unsaid(example: Example) -> list[tuple[str, str, object]]:
    """The argument values that neither an earlier step gave nor the user said by then."""
    missing = []
    for position, step in enumerate(example.steps):
        heard, given = " ".join(example.turns[: step.turn + 1]).lower(), fed(example, position)
        for call in step.calls:
            for name, value in (call.arguments or {}).items():
                parts = value if isinstance(value, list) else [value]
                by_a_step = name in TOOLS[call.name][1].ids and set(map(str, parts)) <= given
                if not by_a_step and not says(heard, spoken(value).lower()):
                    missing.append((call.name, name, value))
    return missing


def test_every_example_is_valid_and_its_oracle_scores_the_most_there_is(examples: tuple[Example, ...]) -> None:
    for example in examples:
        validate(example)
        rollout = oracle(example)
        assert rollout.reward is not None and rollout.end == "answered"
        assert rollout.reward.total == pytest.approx(1.0 if example.abstains else 1.3), example.id
        assert rollout.digest == example.digests[-1]


@pytest.mark.long
def test_almost_every_index_gives_an_example(examples: tuple[Example, ...], held_out: tuple[Example, ...]) -> None:
    assert len(examples) >= 196 and len(held_out) >= 98


def test_the_user_says_every_value_that_no_earlier_step_gives(examples: tuple[Example, ...]) -> None:
    assert {example.id: unsaid(example) for example in examples if unsaid(example)} == {}


@pytest.mark.parametrize("index", [213, 365, 895])
def test_a_look_up_with_a_value_of_its_own_is_said_even_when_its_digits_occur_elsewhere(
    index: int, graph: nx.DiGraph
) -> None:
    """In these draws a limit such as 4 stands inside the PIN or the amount of a later step."""
    example, _ = make(index, "train", graph, Recipe())
    assert example is not None and unsaid(example) == []


def test_a_request_to_abstain_from_points_at_nothing_said_before(examples: tuple[Example, ...]) -> None:
    abstentions = [example for example in examples if example.abstains]
    assert {example.kind for example in abstentions} == {"missing_function", "irrelevance"}
    for example in abstentions:
        assert len(example.turns) == 1 and not POINTERS.search(example.turns[0]), example.turns
        assert example.answers[0] in ABSTENTIONS and example.digests and not example.edges
    assert any(POINTERS.search(" ".join(example.turns)) for example in examples)


def test_turns_come_in_order_and_each_has_work_and_an_answer(chains: list[Example]) -> None:
    for example in chains:
        order = [step.turn for step in example.steps]
        assert order == sorted(order) and set(order) == set(range(len(example.turns)))
        assert len(example.answers) == len(example.turns)
        assert len(example.digests) == len(example.steps) + 1


def test_a_step_depends_on_earlier_steps_only(chains: list[Example]) -> None:
    for example in chains:
        assert all(0 <= giver < taker < len(example.steps) for giver, taker in example.edges)
        assert list(example.edges) == sorted(set(example.edges))


def test_an_answer_says_done_after_a_write_and_shows_after_a_look(chains: list[Example]) -> None:
    for example in chains:
        for turn, answer in enumerate(example.answers):
            last = [step for step in example.steps if step.turn == turn][-1].calls[-1]
            assert (answer == "Done.") == TOOLS[last.name][1].writes


def test_the_digest_moves_with_a_write_and_only_then(chains: list[Example]) -> None:
    for example in chains:
        for position, step in enumerate(example.steps):
            moved = example.digests[position] != example.digests[position + 1]
            assert moved == any(TOOLS[call.name][1].writes for call in step.calls), (example.id, position)


def test_an_example_depends_on_its_index_alone(graph: nx.DiGraph, examples: tuple[Example, ...]) -> None:
    for example in examples[150:155]:
        again, _ = make(int(example.id.rsplit("-", 1)[1]), "train", graph, Recipe())
        assert again == example


def test_recipes_with_other_seeds_open_other_worlds(graph: nx.DiGraph) -> None:
    worlds = [make(8, "train", graph, Recipe(seed))[0] for seed in range(4)]
    assert len({example.world.seed for example in worlds if example}) == 4


@pytest.mark.parametrize("seed", [-1, 41, 50])
def test_a_seed_whose_worlds_would_be_held_out_is_refused(seed: int) -> None:
    with pytest.raises(ValueError, match="held-out worlds"):
        Recipe(seed)


def test_all_tools_are_asked_for(chains: list[Example]) -> None:
    used = {call.name for example in chains for step in example.steps for call in step.calls}
    assert len(used) > 0.9 * len(TOOLS)


def test_a_dropped_draw_says_why(graph: nx.DiGraph) -> None:
    reasons = [reason for index in range(40) for reason in make(index, "train", graph, Recipe())[1]]
    assert reasons
    assert all(reason.split(": ", 1)[0] in ("NothingFits", "StepRefused", "Rejected") for reason in reasons)
