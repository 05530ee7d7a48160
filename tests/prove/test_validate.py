"""Replay validation: every change to an example is rejected, and the message names the example."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest

from mcp_servers.world import World
from tests.prove.known import TOOLS
from training_worker.core.trajectory import Example, Step, ToolCall
from training_worker.dataflow.provenance import is_grounded, single
from training_worker.synthesis.validate import Rejected, hidden_edges, provenance, succeeds, validate

UNSAID = "nobody gave|no user turn|nothing the user says|nobody says"
PIN_CALL = ToolCall("change_card_pin", {"card": "CRD-1", "pin": "4711", "new_pin": "2222"})


def rejected(example: Example) -> str:
    """Return why an example is rejected; the message has to name it."""
    with pytest.raises(Rejected) as caught:
        validate(example)
    assert example.id in str(caught.value)
    return str(caught.value)


def with_step(example: Example, position: int, step: Step) -> Example:
    return replace(example, steps=(*example.steps[:position], step, *example.steps[position + 1 :]))


def refused(example: Example, left_out: int, position: int) -> bool:
    """Return whether a step is refused in a world where another one was left out."""
    world = World.open(example.world.seed, example.world.servers, example.world.size)
    worked = [
        all([succeeds(world, call) for call in step.calls]) for at, step in enumerate(example.steps) if at != left_out
    ]
    return not worked[position - 1]


def test_other_server_behaviour_is_named_with_the_remedy(examples: tuple[Example, ...]) -> None:
    for example in examples[:20]:
        assert "Synthesize the dataset again" in rejected(replace(example, fingerprint="0" * 16))


def test_another_world_is_rejected(examples: tuple[Example, ...]) -> None:
    for example in examples[:20]:
        assert "has changed" in rejected(replace(example, digests=("0" * 32, *example.digests[1:])))
        other = replace(example, world=replace(example.world, seed=example.world.seed + 1))
        assert "has changed" in rejected(other)


def test_a_tampered_observation_is_rejected(chains: list[Example]) -> None:
    for example in chains[:30]:
        for position, step in enumerate(example.steps):
            changed = replace(step, observations=(step.observations[0] + " ",))
            assert f"step {position} has a different result" in rejected(with_step(example, position, changed))


def test_a_tampered_digest_is_rejected(chains: list[Example]) -> None:
    for example in chains[:30]:
        for position in range(1, len(example.digests)):
            digests = (*example.digests[:position], "f" * 32, *example.digests[position + 1 :])
            assert f"after step {position - 1}" in rejected(replace(example, digests=digests))


def test_a_changed_argument_is_rejected(chains: list[Example]) -> None:
    tried = 0
    for example in chains:
        for position, step in enumerate(example.steps):
            for name in TOOLS[step.calls[0].name][1].required:
                if name in TOOLS[step.calls[0].name][1].ids:
                    call = ToolCall(step.calls[0].name, (step.calls[0].arguments or {}) | {name: "NONE-0000"})
                    rejected(with_step(example, position, replace(step, calls=(call,))))
                    tried += 1
    assert tried > 100


def test_a_left_out_write_is_rejected(chains: list[Example]) -> None:
    for example in chains:
        if len(example.steps) > 1 and TOOLS[example.steps[0].calls[0].name][1].writes:
            rejected(replace(example, steps=example.steps[1:], edges=()))


def test_a_hidden_tool_costs_the_oracle_its_reward(chains: list[Example]) -> None:
    for example in chains[:30]:
        name = example.steps[0].calls[0].name
        less = replace(example, candidates=tuple(candidate for candidate in example.candidates if candidate != name))
        assert "the oracle scores" in rejected(less)


def test_an_edge_that_points_back_costs_the_oracle_its_reward(chains: list[Example]) -> None:
    example = next(example for example in chains if example.edges)
    assert "the oracle scores" in rejected(replace(example, edges=tuple((b, a) for a, b in example.edges)))


def with_turns(example: Example, *turns: str, steps: tuple[Step, ...]) -> Example:
    return replace(example, turns=turns, steps=steps, acts=(), today="", failures=())


def test_a_pin_that_nobody_gave_is_rejected_wherever_it_could_have_come_from(chains: list[Example]) -> None:
    example, use = chains[0], Step((PIN_CALL,), turn=0, observations=("{}",))
    look = Step((ToolCall("list_cards", {}),), turn=0, observations=('[{"pin":"4711","new":"2222"}]',))
    provenance(with_turns(example, "Change my PIN 4711 of CRD-1 to 2222.", steps=(use,)))
    provenance(with_turns(example, "Change my PIN of CRD-1.", steps=(look, use)))
    late = with_turns(example, "Change my PIN of CRD-1.", "It is 4711, and 2222 from now on.", steps=(use,))
    own = with_turns(
        example, "Change my PIN of CRD-1.", steps=(replace(use, observations=('{"pin":"4711","new":"2222"}',)),)
    )
    half = with_turns(example, "Change my PIN of CRD-1 to 2222.", steps=(use,))
    for unsaid in (late, own, half, with_turns(example, "Change my PIN of CRD-1.", steps=(use, look))):
        with pytest.raises(Rejected, match=rf"{example.id}: change_card_pin uses a (new_)?pin that nobody gave"):
            provenance(unsaid)


def test_a_pin_is_not_given_by_a_longer_number_that_holds_it(chains: list[Example]) -> None:
    use = Step((PIN_CALL,), turn=0, observations=("{}",))
    with pytest.raises(Rejected, match="uses a pin that nobody gave"):
        provenance(
            with_turns(chains[0], "Pay 147110 cents and change the PIN of CRD-1 (not CRD-4711) to 2222.", steps=(use,))
        )


def test_a_value_that_neither_user_nor_tool_gave_is_invented(chains: list[Example]) -> None:
    """With the turns of another conversation, nobody says the values of the first call."""
    bitten = 0
    for example, other in pairwise(chains):
        first, said = example.steps[0].calls[0].arguments or {}, " ".join(other.turns)
        if any(not is_grounded(value, said) for value in single(first)):
            with pytest.raises(Rejected, match=UNSAID):
                provenance(replace(example, turns=(said,) * len(example.turns)))
            bitten += 1
    assert bitten > 20


@pytest.mark.parametrize(
    ("value", "said", "is_there"),
    [
        (4, "Show the card CRD-4653.", False),
        (4, '{"limit":4}', True),
        (True, "Yes or no? yes", True),
        (False, '{"done":false}', True),
        (True, "Do it.", False),
        ('say "hi"', '{"text":"say \\"hi\\""}', True),
        ("Ana", "Ask Anabel.", False),
        ("Ana", '{"name":"Ana"}', True),
    ],
)
def test_a_value_is_said_as_words_of_its_own_or_stands_in_json(value: object, said: str, is_there: bool) -> None:
    assert is_grounded(value, said) is is_there


def test_every_real_use_of_a_pin_bites_when_the_user_does_not_say_it(examples: tuple[Example, ...]) -> None:
    bitten = 0
    for example in examples:
        sensitive = [call for step in example.steps for call in step.calls if TOOLS[call.name][1].sensitive]
        if any(TOOLS[call.name][1].sensitive & set(call.arguments or {}) for call in sensitive):
            assert re.search(UNSAID, rejected(replace(example, turns=("Do it.",) * len(example.turns))))
            bitten += 1
    assert bitten


def test_an_edge_is_there_wherever_leaving_out_a_step_gets_a_later_one_refused(chains: list[Example]) -> None:
    for example in chains[:60]:
        assert hidden_edges(example) == example
        for position in range(len(example.steps)):
            for left_out in range(position):
                if refused(example, left_out, position):
                    assert (left_out, position) in example.edges, example.id
