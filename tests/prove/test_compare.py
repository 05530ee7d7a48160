"""Measures of variety: a repeated text counts as a repetition, also with other values."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_worker.core.trajectory import Example
from training_worker.datasets.compare import commonest, distinct, mask_first_turn

WORDS = st.lists(st.sampled_from("open close the a door window please now".split()), min_size=4, max_size=12)


@given(st.lists(WORDS, min_size=1, max_size=8), st.integers(2, 5))
def test_what_is_said_again_is_less_distinct(turns: list[list[str]], times: int) -> None:
    texts = [" ".join(words) for words in turns]
    assert 0 < distinct(texts) <= 1
    assert distinct(texts * times) == pytest.approx(distinct(texts) / times)


def test_groups_of_words_do_not_run_across_texts_and_numbers_are_no_words() -> None:
    assert distinct([]) == distinct(["one two three"]) == 0
    assert distinct(["open the door now", "open the door 12 now"]) == 0.5


def test_requests_that_differ_in_values_alone_are_the_same_request(chains: list[Example]) -> None:
    example, value = next(
        (one, value)
        for one in chains
        for value in (one.steps[0].calls[0].arguments or {}).values()
        if isinstance(value, str) and value.isalpha()
    )
    texts = ("Freeze CRD-1111 now.", "Freeze CRD-2222 now.", f"Freeze {value} now.", "Something else.")
    requests = [replace(example, turns=(text,)) for text in texts]
    assert [mask_first_turn(one) for one in requests] == ["Freeze # now."] * 3 + ["Something else."]
    assert commonest(requests) == 0.75 and commonest([]) == 0
