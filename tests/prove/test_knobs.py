"""The knobs: which tools a conversation shows, within its limit, and how often each knob is turned."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_servers.core import Draw
from tests.prove.known import TOOLS
from training_worker.core.trajectory import Example, Kind
from training_worker.graph.dependency_graph import load_or_build
from training_worker.synthesis.knobs import Knobs, draw_kind, draw_servers, draw_toolset

KINDS: tuple[Kind, ...] = get_args(Kind)
DRAWS = 3000


def servers_of(names: tuple[str, ...]) -> set[str]:
    return {TOOLS[name][0].name for name in names}


def draw_sets(graph: nx.DiGraph, kind: Kind, knobs: Knobs) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Yield tools, the servers of conversations about them, and the tools that these show."""
    for about in list(graph)[::7]:
        for time in range(3):
            draw = Draw("knobs", about, time)
            own = draw_servers(graph, about, knobs, draw)
            yield about, own, draw_toolset(graph, own, kind, about, knobs, draw)


@pytest.fixture(scope="module")
def all_servers(graph_folder: Path) -> nx.DiGraph:
    return load_or_build(graph_folder)


def test_a_conversation_shows_the_full_toolsets_of_its_servers(all_servers: nx.DiGraph) -> None:
    for about, own, visible in draw_sets(all_servers, "chain", Knobs()):
        full = {name for name, server in all_servers.nodes(data="server") if server in own}
        assert (
            about in visible
            and full <= set(visible)
            and len(full) >= Knobs.fewest
            and len(set(visible)) == len(visible)
        )


def test_a_missing_function_is_hidden_and_no_other_tool_of_its_servers(all_servers: nx.DiGraph) -> None:
    for about, own, visible in draw_sets(all_servers, "missing_function", Knobs()):
        assert {name for name, server in all_servers.nodes(data="server") if server in own} - {*visible} == {about}


def test_an_irrelevant_request_sees_tools_and_none_of_its_server(all_servers: nx.DiGraph) -> None:
    for about, _, visible in draw_sets(all_servers, "irrelevance", Knobs()):
        assert visible and all_servers.nodes[about]["server"] not in {
            all_servers.nodes[one]["server"] for one in visible
        }


def test_two_in_five_conversations_see_three_to_eight_tools_of_other_servers(all_servers: nx.DiGraph) -> None:
    counts = []
    for time in range(DRAWS):
        visible = draw_toolset(all_servers, ("banking",), "chain", "get_account", Knobs(), Draw("distractors", time))
        counts.append(sum(all_servers.nodes[name]["server"] != "banking" for name in visible))
    assert sum(count > 0 for count in counts) / DRAWS == pytest.approx(0.4, abs=0.04)
    assert set(counts) == {0, 3, 4, 5, 6, 7, 8}


def test_the_examples_made_keep_these_laws(examples: tuple[Example, ...]) -> None:
    for example in examples:
        called = {call.name for step in example.steps for call in step.calls}
        assert called <= set(example.offered) and example.candidates
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


def test_three_in_ten_conversations_lose_their_value_lists(
    examples: tuple[Example, ...], held_out: tuple[Example, ...]
) -> None:
    stripped = [example.enums_stripped for example in (*examples, *held_out)]
    assert sum(stripped) / len(stripped) == pytest.approx(0.3, abs=0.1)
