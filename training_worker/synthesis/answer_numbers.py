"""Check of the numbers in the assistant's texts: each must be shown, said, counted or a sum of numbers in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import combinations

from ..core.trajectory import Example, Json
from ..dataflow.provenance import contains_value
from ..dataflow.quality import parse
from ..dataflow.resolver import Number, Utterance, iterate_leaves
from .comparisons import measures


def unproven_numbers(example: Example) -> list[str]:
    """Return the numbers in the assistant's texts that nothing before them proves, each with its user turn.

    A number is proven by an observation, a user turn or an argument up to there, as the length of an observed list, or
    as a sum: of a number that calls of one step show of several entities, all of which the text names.
    """
    return [
        f"turn {turn}: {one.amount}"
        for turn, text in enumerate(example.answers)
        for one in find_unproven(example, turn, Utterance(turn, text, example.today))
    ]


def find_unproven(example: Example, turn: int, answer: Utterance) -> Iterator[Number]:
    """Yield the unproven numbers, written in digits, in the text that ends a user turn."""
    results = [parse(text) for text in list_observations(example, turn)]
    used: list[Json] = [call.arguments for step in example.steps if step.turn <= turn for call in step.calls]
    leaves = [value for one in (*results, *used) for _, value in iterate_leaves(one)]
    amounts = {abs(Decimal(str(value))) for value in leaves if type(value) in (int, float)}
    amounts |= {Decimal(length) for one in results for length in list_lengths(one)}
    said = " ".join((*example.turns[: turn + 1], *(value for value in leaves if isinstance(value, str))))
    named = {abs(one.amount) for one in answer.numbers}
    for one in answer.numbers:
        amount, digits = abs(one.amount), re.sub(r"[^\d.,]", "", answer.original[one.start : one.end])
        if not digits or {amount, amount * 100} & amounts or contains_value(said, digits):
            continue
        if not any(amount in (sum(parts), sum(parts) / 100) for parts in list_addends(example, turn, named)):
            yield one


def list_observations(example: Example, turn: int) -> Iterator[str]:
    """Yield the observations up to a user turn, those of failed calls among them."""
    for step in example.steps:
        yield from step.observations if step.turn <= turn else ()
    yield from (one.observation for one in example.failures if one.turn <= turn)


def list_addends(example: Example, turn: int, named: set[Decimal]) -> Iterator[tuple[Decimal, ...]]:
    """Yield the numbers of two or three entities that a text names and that may be added up: those of one field in the
    observations of one tool's calls in one step, in one currency."""
    for step in (one for one in example.steps if one.turn == turn):
        for tool in sorted({call.name for call in step.calls}):
            pairs = zip(step.calls, step.observations, strict=True)
            results = [parse(text) for call, text in pairs if call.name == tool]
            rows = [one for one in results if isinstance(one, dict)]
            for field in (name for name, measure in measures(tool).items() if measure.sum):
                found = [(Decimal(one[field]), one.get("currency")) for one in rows if type(one.get(field)) is int]
                for some in (*combinations(found, 2), *combinations(found, 3)):
                    if len({currency for _, currency in some}) == 1 and all({a, a / 100} & named for a, _ in some):
                        yield tuple(amount for amount, _ in some)


def list_lengths(value: Json) -> Iterator[int]:
    """Yield the lengths of the lists in a value, however deep."""
    if isinstance(value, list):
        yield len(value)
    if isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from list_lengths(part)
