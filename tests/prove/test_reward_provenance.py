"""Provenance: which values of a model's calls have a source, and when a text says a value."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_worker.chat.protocol import write_calls
from training_worker.core.trajectory import Example, Message, Rollout, ToolCall
from training_worker.dataflow.provenance import contains_value, is_grounded
from training_worker.environment.episode import Attempt, oracle
from training_worker.reward.provenance import in_schema, provenance

Given = dict[str, object]
pieces = st.text(st.sampled_from("a1-_ .éB\n"), max_size=8)


@given(pieces, pieces)
def test_a_text_says_a_value_exactly_where_it_stands_as_words_of_its_own(text: str, value: str) -> None:
    pattern = rf"(?<!\w)(?<!\w-){re.escape(value)}(?!\w)"
    assert contains_value(text, value) == (re.search(pattern, text) is not None)


def test_every_value_of_a_ground_truth_has_a_source(examples: tuple[Example, ...]) -> None:
    assert all(provenance(example, oracle(example)) == 1 for example in examples[:80])


def test_doing_nothing_invents_nothing(two_turns: Example) -> None:
    assert provenance(two_turns, Attempt(two_turns).finish()) == 1


def rollout_of(example: Example, *turns: list[ToolCall]) -> Rollout:
    attempt = Attempt(replace(example, turns=("Pay ACC-1 500 cents on 6 March 2026.", "Thanks.")))
    for calls in turns:
        attempt.answer(write_calls(calls))
    return attempt.finish()


@pytest.mark.parametrize(
    ("arguments", "share"),
    [
        ({"a": "ACC-1", "b": 500, "c": 500.0, "d": True, "e": None, "f": 500.5}, 5 / 6),
        ({"a": "ACC-2"}, 0),
        ({"a": ["ACC-1", "ACC-2"], "b": {"c": 500, "d": 501}}, 1 / 2),
        ({"a": "2026-03-06", "b": "2026-03-07"}, 1 / 2),
        ({"a": "AC", "b": 50, "c": "cents"}, 1 / 3),
        ({}, 1),
    ],
)
def test_a_value_has_a_source_when_somebody_said_it(
    chains: list[Example], arguments: dict[str, object], share: float
) -> None:
    rollout = rollout_of(chains[0], [ToolCall("list_accounts", arguments)])
    assert provenance(chains[0], rollout) == pytest.approx(share)


def test_what_a_tool_answers_is_a_source_for_later_turns_only(chains: list[Example]) -> None:
    example = next(one for one in chains if "banking" in one.world.servers and "list_accounts" in one.candidates)
    looked = rollout_of(example, [ToolCall("list_accounts", {})])
    id = re.search(r"ACC-\d+", looked.calls[0].observation)
    assert id is not None
    use = ToolCall("get_account", {"account": id[0]})
    assert provenance(example, rollout_of(example, [ToolCall("list_accounts", {})], [use])) == 1
    assert provenance(example, rollout_of(example, [ToolCall("list_accounts", {}), use])) == 0
    prompted = replace(
        looked, transcript=(Message("system", f"You are {id[0]}."), *rollout_of(example, [use]).transcript)
    )
    assert provenance(example, replace(prompted, calls=rollout_of(example, [use]).calls)) == 1


def test_choices_and_defaults_of_a_schema_are_a_source_and_choices_only_where_they_are_visible() -> None:
    assert {"inbox", "sent", "archive"} <= in_schema("list_messages", False)
    assert "inbox" not in in_schema("list_messages", True)
    assert in_schema("no_such_tool", False) == frozenset()


def test_a_value_is_said_in_json_too() -> None:
    assert is_grounded('a "b"', '{"text": "a \\"b\\""}') and not is_grounded('a "c"', '{"text": "a \\"b\\""}')


@pytest.mark.parametrize(
    ("value", "said", "has"),
    [
        ("2026-03-05T10:00:00Z", '{"start": "2026-03-05T10:00:00Z"}', True),
        ("2026-03-05T12:00:00+02:00", '{"start": "2026-03-05T10:00:00Z"}', True),
        ("2026-03-05T10:00:00Z", "Start at 2026-03-05T05:00:00-05:00.", True),
        ("2026-03-05T12:00:00+02:00", "Start on 5 March 2026 at 10:00.", True),
        ("2026-03-05T12:00:00Z", "Start at 2026-03-05T12:00:00+02:00.", False),
        ("2026-03-05T10:00:30Z", "Start on 5 March 2026 at 10:00.", False),
    ],
)
def test_a_moment_has_a_source_in_whatever_offset_it_is_said(value: str, said: str, has: bool) -> None:
    assert is_grounded(value, said) == has
