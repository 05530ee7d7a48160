"""What the user says: grounded, in order, and with everything a tool requires."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_servers.catalogue import TOOLS
from mcp_servers.kit import Draw
from training_worker.prove.provenance import says, spoken
from training_worker.prove.synthesis.language import (
    PERSONAS,
    choose,
    clause,
    default_ask,
    fields,
    sentence,
)

words = st.text("abcdefgh ", min_size=1).map(lambda text: "do " + text)


def test_every_way_to_ask_names_all_a_tool_requires_and_nothing_it_lacks() -> None:
    for name, (_, tool) in TOOLS.items():
        for time in range(30):
            ask, optional = choose(tool, Draw("ask", name, time))
            assert set(tool.required) <= set(fields(ask)) <= set(tool.input_schema["properties"]), (name, ask)
            assert set(optional) == set(fields(ask)) - set(tool.required), (name, ask)
            assert not tool.sensitive & set(optional) and not set("[]") & set(ask), (name, ask)


def test_a_tool_nobody_worded_can_still_be_asked_for() -> None:
    for name, (_, tool) in TOOLS.items():
        assert set(fields(default_ask(tool))) == set(tool.required), name


def test_what_a_thing_is_is_said_once() -> None:
    words = {"directory": "the folder alba", "event": "the event"}
    assert clause("list the folder {directory}", {}, words) == "list the folder alba"
    assert clause("move the event {event} to Monday", {}, words) == "move the event to Monday"
    assert clause("copy {directory} next to the folder {directory}", {}, words) == (
        "copy the folder alba next to the folder alba"
    )


def test_a_clause_says_every_value_of_its_fields() -> None:
    for _, tool in TOOLS.values():
        ask, _ = choose(tool, Draw("clause", tool.name))
        values = {name: f"value{place}" for place, name in enumerate(fields(ask))}
        assert all(says(clause(ask, values, {}), value) for value in values.values()), tool.name
        in_words = {name: f"word{place}" for place, name in enumerate(fields(ask))}
        assert "value" not in clause(ask, values, in_words), tool.name


@given(st.lists(words, min_size=1, max_size=5), st.integers(0, 10_000), st.booleans())
def test_a_sentence_says_its_clauses_in_order_and_ends_once(clauses: list[str], key: int, first: bool) -> None:
    text = sentence(clauses, Draw("sentence", key), "" if first else "Before.")
    place = 0
    for part in (clauses[0][1:], *clauses[1:]):
        place = text.index(part, place) + len(part)
    assert place == len(text) - 1 and text[-1] in ".?" and text[0].isupper()
    assert (text[-1] == "?") == text.startswith(("Could", "Can"))


@given(st.sampled_from(sorted(PERSONAS)), st.integers(0, 10_000))
def test_no_two_turns_in_a_row_begin_alike(name: str, key: int) -> None:
    draw, turns = Draw("row", key), [""]
    for _ in range(4):
        turns.append(sentence(["x"], draw, turns[-1], PERSONAS[name]))
    assert all(one != other or one == "X." for one, other in pairwise(turns))


@pytest.mark.parametrize(
    ("value", "text"), [(True, "yes"), (False, "no"), (7, "7"), (["a", "b"], "a and b"), ("x", "x")]
)
def test_values_are_spoken_as_a_person_would(value: object, text: str) -> None:
    assert spoken(value) == text


@given(st.from_regex(r"[A-Za-z0-9]{1,6}", fullmatch=True), st.from_regex(r"[A-Za-z0-9]{1,6}", fullmatch=True))
def test_a_value_is_said_by_itself_and_not_by_a_longer_word_or_id(value: str, more: str) -> None:
    assert says(f"up to {value}, please", value) and says(f"({value})", value)
    assert not says(f"up to {value}{more}.", value) or value in more
    assert not says(f"card CRD-{value}", value)
