"""Words of users: values as people say them, values given on request, and names that only a program would use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_worker.dataflow.provenance import contains_value, verbalize
from training_worker.dataflow.templates import PERSONAS
from training_worker.dataflow.templates import fill_template as given_back


@pytest.mark.parametrize(
    ("value", "text"), [(True, "yes"), (False, "no"), (7, "7"), (["a", "b"], "a and b"), ("x", "x")]
)
def test_values_are_spoken_as_a_person_would(value: object, text: str) -> None:
    assert verbalize(value) == text


@given(st.from_regex(r"[A-Za-z0-9]{1,6}", fullmatch=True), st.from_regex(r"[A-Za-z0-9]{1,6}", fullmatch=True))
def test_a_value_is_said_by_itself_and_not_by_a_longer_word_or_id(value: str, more: str) -> None:
    assert contains_value(f"up to {value}, please", value) and contains_value(f"({value})", value)
    assert not contains_value(f"up to {value}{more}.", value) or value in more
    assert not contains_value(f"card CRD-{value}", value)


@given(st.sampled_from([template for one in PERSONAS.values() for template in one.gives]), st.text("ab.!?", min_size=1))
def test_an_answer_says_the_value(template: str, value: str) -> None:
    assert value in given_back(template, value)
    if value[0].isalpha() and value[-1].isalpha():
        assert contains_value(given_back(template, value), value)
