"""Shapes: the ids in a result are found by its type, with the words a person has for their rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from training_worker.core.trajectory import Example
from training_worker.dataflow.leakage import EMAIL, ID
from training_worker.graph.result_schema import EntityRef, Row, find_entity_refs, label, rows_in, values_in


def texts(value: Any) -> Iterator[str]:
    """Yield every string in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts(part)


@pytest.fixture(scope="module")
def results(chains: list[Example]) -> list[tuple[str, Any]]:
    """Return every tool with a result that it gave."""
    return [
        (call.name, json.loads(text))
        for example in chains
        for step in example.steps
        for call, text in zip(step.calls, step.observations, strict=True)
    ]


def test_every_id_of_a_result_is_found_and_nothing_else(results: list[tuple[str, Any]]) -> None:
    for tool, result in results:
        found = {one.id for one in find_entity_refs(tool, result) if not EMAIL.fullmatch(one.id)}
        assert found == {text for text in texts(result) if ID.fullmatch(text)}, tool


def test_one_id_has_one_type_in_all_results(results: list[tuple[str, Any]]) -> None:
    prefixes: dict[str, set[str]] = {}
    for tool, result in results:
        for one in find_entity_refs(tool, result):
            prefixes.setdefault(one.type, set()).add(one.id.split("-")[0] if ID.fullmatch(one.id) else "@")
    assert len(prefixes) > 8 and all(len(own) == 1 for own in prefixes.values()), prefixes


def test_a_reference_is_found_once(results: list[tuple[str, Any]]) -> None:
    for tool, result in results:
        found = find_entity_refs(tool, result)
        assert len(set(found)) == len(found)


def test_a_row_is_called_by_its_label_and_only_when_it_has_all_the_words() -> None:
    row = {"merchant": "Cafe", "amount": 0, "memo": None, "note": ""}
    assert label("the {merchant} payment", row) == "the Cafe payment"
    assert label("{merchant} {amount}", row) == "Cafe 0"
    assert [label(template, row) for template in ("", "a payment", "{memo}", "{note}", "{lacking}")] == [""] * 5


def test_accounts_are_found_with_their_labels() -> None:
    result = [{"id": "ACC-1", "kind": "travel", "balance": 1, "currency": "EUR"}]
    assert find_entity_refs("list_accounts", result)[0] == EntityRef("AccountId", "ACC-1", "the travel account")


def test_rows_stand_in_their_list() -> None:
    first, second = {"id": "ACC-1", "kind": "travel"}, {"id": "ACC-2", "kind": "joint"}
    assert list(rows_in("list_accounts", [first, second])) == [
        Row("AccountId", "ACC-1", first, [first, second], (0,)),
        Row("AccountId", "ACC-2", second, [first, second], (1,)),
    ]


def test_a_row_that_stands_alone_is_its_own_list() -> None:
    card = {"id": "CRD-1", "account": "ACC-1", "kind": "debit"}
    assert list(rows_in("freeze_card", card)) == [Row("CardId", "CRD-1", card, [card])]


def test_rows_are_at_their_path(results: list[tuple[str, Any]]) -> None:
    for tool, result in results:
        for row in rows_in(tool, result):
            value = result
            for part in row.path:
                value = value[part]
            assert value is row.fields and value["id"] == row.id and any(one is value for one in row.group), tool


def test_plain_values_are_found_however_deep() -> None:
    result = {"a": [{"b": 1, "c": {"d": "x"}}], "e": None, "f": 1.5, "g": True}
    assert list(values_in(result)) == [("b", 1), ("d", "x"), ("g", True)]
