"""Values: equal as JSON, numbers nearly, strings by meaning."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from training_worker.dataflow.values import equal, find_differing_keys

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)


@given(values)
def test_every_value_equals_its_own_json(value: Any) -> None:
    assert equal(value, json.loads(json.dumps(value)))


@given(values, values)
def test_equality_has_no_direction(a: Any, b: Any) -> None:
    assert equal(a, b) == equal(b, a)


@given(st.floats(1e-300, 1e300), st.floats(-0.9e-9, 0.9e-9), st.sampled_from([1, -1]))
def test_a_number_off_by_less_than_the_tolerance_is_the_same(number: float, error: float, sign: int) -> None:
    assert equal(sign * number, sign * number * (1 + error))
    assert not equal(sign * number, sign * number * (1 + 3e-9))
    assert not equal(number, -number)


@given(st.dictionaries(st.text(max_size=3), scalars, max_size=4), st.text(max_size=3), scalars)
def test_an_object_with_one_key_more_is_another(value: dict[str, Any], key: str, extra: Any) -> None:
    assume(key not in value)
    assert not equal(value, value | {key: extra})
    assert find_differing_keys(value | {key: extra}, value) == (key,)


@given(st.lists(scalars, max_size=3), scalars)
def test_a_longer_list_is_another(value: list[Any], extra: Any) -> None:
    assert not equal(value, [*value, extra])


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (120, 120.0),
        (0, -0.0),
        ("caf\u00e9", " cafe\u0301\n"),
        (10**400, 10**400 + 1),
        (float("inf"), float("inf")),
        ("2026-03-05T10:00:00Z", "2026-03-05T12:00:00.000+02:00"),
        ("2026-03-05T10:00:00Z", "2026-03-05t10:00:00z "),
        ({"a": [1, {"b": "x "}]}, {"a": [1.0, {"b": "x"}]}),
    ],
)
def test_these_mean_the_same(a: Any, b: Any) -> None:
    assert equal(a, b) and equal(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (True, 1),
        (False, 0),
        (False, None),
        (0, None),
        ("", None),
        ("120", 120),
        ("a b", "a  b"),
        ("A", "a"),
        ("2026-03-05T10:00:00Z", "2026-03-05T10:00:00+02:00"),
        ("2026-03-05T10:00:00Z", "2026-03-05T10:00:30Z"),
        ("2026-03-05T10:00:00Z", "2026-03-05T10:00"),
        ([1, 2], [2, 1]),
        ([], {}),
        (10**400, 1e308),
        (10**400, 2 * 10**400),
        (10**400, float("inf")),
        (0, 1e-300),
        (float("nan"), float("nan")),
        ({"a": None}, {}),
    ],
)
def test_these_do_not(a: Any, b: Any) -> None:
    assert not equal(a, b) and not equal(b, a)


def test_nesting_as_deep_as_a_call_may_be_is_compared() -> None:
    deep: Any = 1
    for _ in range(16):
        deep = {"a": [deep]}
    assert equal(deep, json.loads(json.dumps(deep)))
    assert not equal(deep, json.loads(json.dumps(deep).replace("1", "2")))
