"""Training conversations with other words for what is copied."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from tests.prove.known import known_examples
from training_worker.core.trajectory import Example, Step, ToolCall
from training_worker.training.augmentation import find_copied_texts, reword, word_pool
from training_worker.training.curriculum import Draws
from training_worker.training.rationale import rationales


@pytest.fixture(scope="module")
def pairs() -> list[tuple[Example, Example]]:
    examples = known_examples(40)
    pool, draws = word_pool(examples), Draws(0)
    return [(example, reword(example, pool, draws.pick)) for example in examples]


def shape(value: Any) -> Any:
    """What other words do not change: keys, and values that are no texts."""
    match value:
        case dict():
            return {key: shape(part) for key, part in value.items()}
        case list():
            return [shape(part) for part in value]
        case str():
            return ""
    return value


def test_only_texts_change_and_what_is_copied_is_copied_still(pairs: list[tuple[Example, Example]]) -> None:
    assert sum(old.turns != new.turns for old, new in pairs) > len(pairs) // 2
    for old, new in pairs:
        assert replace(new, turns=old.turns, steps=old.steps, answers=old.answers) == old
        for before, after in zip(old.steps, new.steps, strict=True):
            assert [call.name for call in before.calls] == [
                call.name for call in after.calls
            ] and before.turn == after.turn
            for one, other in zip(before.calls, after.calls, strict=True):
                assert shape(one.arguments) == shape(other.arguments)
            for one, other in zip(before.observations, after.observations, strict=True):
                assert shape(json.loads(one)) == shape(json.loads(other))
        assert bool(find_copied_texts(new)) == bool(find_copied_texts(old))
        assert [bool(said) for said in rationales(new)] == [bool(said) for said in rationales(old)]


def test_ids_dates_and_domains_stay(pairs: list[tuple[Example, Example]]) -> None:
    fixed = re.compile(r"[A-Z]{2,6}-\d+|\d{4}-\d\d-\d\d(?:T[\d:]+Z)?|@[\w.]+|\d+")
    for old, new in pairs:
        for one, other in zip((*old.turns, *old.answers), (*new.turns, *new.answers), strict=True):
            assert fixed.findall(one) == fixed.findall(other)


def test_a_text_gets_other_words_everywhere_but_where_it_is_a_key() -> None:
    call = ToolCall("send_message", {"to": "ana.ito@acme.example", "text": "good news"})
    result = '{"id":"M-1","text":"good news","good news":1,"to":"ana.ito@acme.example","sent":"2027-01-02"}'
    example = replace(
        known_examples(1)[0],
        turns=('Send ana.ito@acme.example "good news"; good newsreels are another thing.',),
        steps=(Step((call,), observations=(result,)),),
        answers=('I sent "good news".',),
    )
    new = reword(example, {False: ["word"], True: ["Word"]}, lambda words: words[0])
    assert new.turns == ('Send word.word@acme.example "word word"; good newsreels are another thing.',)
    assert new.steps[0].calls[0].arguments == {"to": "word.word@acme.example", "text": "word word"}
    assert new.steps[0].observations == (
        '{"id":"M-1","text":"word word","good news":1,"to":"word.word@acme.example","sent":"2027-01-02"}',
    )
    assert new.answers == ('I sent "word word".',)


def test_without_words_to_choose_from_nothing_changes() -> None:
    example = known_examples(1)[0]
    assert reword(example, {False: [], True: []}, lambda words: words[0]) is example
