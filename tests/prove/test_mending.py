"""A conversation that a person mended holds like any other, or says why it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.prove.known import known_examples, known_graph
from training_worker.core.trajectory import Example
from training_worker.datasets.edits import EditedConversation, apply_edits, as_it_is
from training_worker.environment.episode import oracle
from training_worker.synthesis.conversation import Recipe, make
from training_worker.synthesis.knobs import PAPER
from training_worker.synthesis.validate import Rejected


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    """Return examples of all kinds, plain and with every option on: failures, dates, levels, personas."""
    rich = [make(index, "train", known_graph(), Recipe(knobs=PAPER))[0] for index in range(55, 125)]
    return [*known_examples(25), *(example for example in rich if example)]


def without(wanted: EditedConversation, at: int) -> EditedConversation:
    return replace(wanted, calls=wanted.calls[:at] + wanted.calls[at + 1 :])


def test_an_unmended_conversation_is_what_it_was(examples: list[Example]) -> None:
    assert any(one.failures for one in examples) and any(one.today for one in examples)
    for example in examples:
        assert apply_edits(example.id, example, as_it_is(example)) == example


def test_a_conversation_of_older_code_runs_again_on_the_current_code(examples: list[Example]) -> None:
    example = examples[0]
    old = replace(example, fingerprint="0" * 16, digests=tuple("0" * 32 for _ in example.digests))
    assert apply_edits(example.id, old, as_it_is(old)) == example


def test_other_words_that_say_the_same_values_hold(examples: list[Example]) -> None:
    example = next(one for one in examples if one.steps)
    wanted = as_it_is(example)
    made = apply_edits("new", example, replace(wanted, turns=(f"Please: {wanted.turns[0]}", *wanted.turns[1:])))
    assert (made.id, made.steps, made.digests) == ("new", example.steps, example.digests)
    assert made.turns[0].startswith("Please: ")


def test_what_is_left_of_a_conversation_holds_without_its_last_call(examples: list[Example]) -> None:
    for example in [one for one in examples if len(one.steps) > 2 and len(one.steps[-1].calls) == 1][:8]:
        wanted = as_it_is(example)
        made = apply_edits("new", example, without(wanted, len(wanted.calls) - 1))
        assert made.steps == example.steps[:-1] and made.digests == example.digests[:-1]
        assert all(later < len(made.steps) for _, later in made.edges)
        assert {edge for edge in example.edges if len(example.steps) - 1 not in edge} <= set(made.edges)
        assert oracle(made).reward.total == pytest.approx(1.3)


def test_a_value_that_nobody_gave_is_refused(examples: list[Example]) -> None:
    example = next(one for one in examples if one.steps and one.steps[0].calls[0].arguments)
    wanted = as_it_is(example)
    silent = replace(wanted, turns=tuple("Please do what I need." for _ in wanted.turns))
    with pytest.raises(Rejected, match=r"nobody gave|nobody says"):
        apply_edits("new", example, silent)


def test_a_call_that_is_refused_is_named_with_what_was_answered(examples: list[Example]) -> None:
    example = next(one for one in examples if any(call.arguments for step in one.steps for call in step.calls))
    wanted = as_it_is(example)
    at = next(at for at, one in enumerate(wanted.calls) if one.arguments)
    bad = replace(wanted.calls[at], arguments={"no": "such argument"})
    with pytest.raises(Rejected, match=f"Call {at + 1}, {bad.tool}, is refused: "):
        apply_edits("new", example, replace(wanted, calls=(*wanted.calls[:at], bad, *wanted.calls[at + 1 :])))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda wanted: replace(wanted, calls=()), "No call is left"),
        (lambda wanted: replace(wanted, calls=(replace(wanted.calls[0], tool="fly"),)), "has a tool .fly."),
        (lambda wanted: replace(wanted, turns=("  ", *wanted.turns[1:])), "The user says nothing in turn 1"),
        (lambda wanted: replace(wanted, answers=("", *wanted.answers[1:])), "The assistant says nothing in turn 1"),
        (lambda wanted: replace(wanted, calls=wanted.calls[:1] * 12), "a rollout has 10 at most"),
    ],
)
def test_what_could_not_be_run_says_what_to_do(examples: list[Example], change, why: str) -> None:
    example = next(one for one in examples if one.steps)
    with pytest.raises(Rejected, match=why):
        apply_edits("new", example, change(as_it_is(example)))


def test_a_failure_goes_with_the_step_that_recovered_from_it(examples: list[Example]) -> None:
    example = next(one for one in examples if one.failures and one.failures[0].step == len(one.steps) - 1)
    wanted = as_it_is(example)
    last = len(example.steps) - 1
    left = replace(wanted, calls=tuple(one for one in wanted.calls if one.was != last))
    assert [one.step for one in apply_edits("new", example, left).failures if one.step == last] == []
