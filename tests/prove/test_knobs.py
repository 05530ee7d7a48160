"""The knobs: what a conversation may see, never more than allowed, and how often each is turned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_servers.kit import Draw
from tests.prove.known import SERVERS, TOOLS
from training_worker.prove.synthesis.chains import draw_chain
from training_worker.prove.synthesis.knobs import Knobs, draw_candidates, draw_kind
from training_worker.prove.trajectory import Example, Kind

KINDS: tuple[Kind, ...] = get_args(Kind)
DRAWS = 3000


def servers_of(names: tuple[str, ...]) -> set[str]:
    return {TOOLS[name][0].name for name in names}


def drawn(graph: nx.DiGraph, kind: Kind, knobs: Knobs) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    for name in TOOLS:
        for time in range(6):
            draw = Draw("knobs", name, time)
            chain = draw_chain(graph, name, draw)
            yield chain, draw_candidates(chain, kind, knobs, draw, graph)


@pytest.mark.parametrize("most", [5, 8, 24])
@pytest.mark.parametrize("kind", KINDS)
def test_candidates_are_different_tools_and_not_too_many(kind: Kind, most: int, graph: nx.DiGraph) -> None:
    for _, shown in drawn(graph, kind, Knobs(most=most)):
        assert len(set(shown)) == len(shown) <= most and set(shown) <= set(TOOLS)


@pytest.mark.parametrize("most", [5, 24])
def test_a_chain_can_be_done_with_the_tools_shown(most: int, graph: nx.DiGraph) -> None:
    assert all(set(chain) <= set(shown) for chain, shown in drawn(graph, "chain", Knobs(most=most)))


@pytest.mark.parametrize("most", [5, 24])
def test_a_missing_function_hides_the_last_tool_and_no_other(most: int, graph: nx.DiGraph) -> None:
    for chain, shown in drawn(graph, "missing_function", Knobs(most=most)):
        assert chain[-1] not in shown and set(chain[:-1]) <= set(shown)


def test_an_irrelevant_request_sees_tools_and_none_of_its_servers(graph: nx.DiGraph) -> None:
    for chain, shown in drawn(graph, "irrelevance", Knobs()):
        assert not servers_of(chain) & servers_of(shown)
        assert shown or servers_of(chain) == set(SERVERS)


def test_the_examples_made_keep_these_laws(examples: tuple[Example, ...]) -> None:
    for example in examples:
        called = {call.name for step in example.steps for call in step.calls}
        assert called <= set(example.candidates) and example.candidates
        assert servers_of(example.candidates) <= set(example.world.servers)


@given(st.integers(-100, 4))
def test_a_cap_below_the_longest_chain_is_refused(most: int) -> None:
    with pytest.raises(ValueError, match="up to 5 tools"):
        Knobs(most=most)


def test_kinds_come_as_often_as_their_knobs_say() -> None:
    drawn = [draw_kind(Knobs(), Draw("kind", time)) for time in range(DRAWS)]
    assert drawn.count("irrelevance") / DRAWS == pytest.approx(0.05, abs=0.015)
    assert drawn.count("missing_function") / DRAWS == pytest.approx(0.11, abs=0.02)


@settings(max_examples=20)
@given(st.sampled_from(KINDS))
def test_a_knob_of_one_is_always_turned(kind: Kind) -> None:
    knobs = Knobs(irrelevance=float(kind == "irrelevance"), missing_function=float(kind == "missing_function"))
    assert {draw_kind(knobs, Draw("always", time)) for time in range(200)} == {kind}


def test_two_in_five_conversations_see_three_to_eight_tools_of_other_servers(graph: nx.DiGraph) -> None:
    counts = []
    for time in range(DRAWS):
        draw = Draw("distractors", time)
        chain = ("list_accounts", "get_account")
        shown = draw_candidates(chain, "chain", Knobs(), draw, graph)
        counts.append(sum(TOOLS[name][0].name != "banking" for name in shown))
        assert 1 <= len(shown) - counts[-1] - len(chain) <= 3
    assert sum(count > 0 for count in counts) / DRAWS == pytest.approx(0.4, abs=0.04)
    assert set(counts) == {0, 3, 4, 5, 6, 7, 8}


def test_three_in_ten_conversations_lose_their_value_lists(
    examples: tuple[Example, ...], held_out: tuple[Example, ...]
) -> None:
    stripped = [example.enums_stripped for example in (*examples, *held_out)]
    assert sum(stripped) / len(stripped) == pytest.approx(0.3, abs=0.1)
