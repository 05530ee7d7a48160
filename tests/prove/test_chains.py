"""Chains: different tools around a target, held together by edges that lead forward."""

from __future__ import annotations

from collections import Counter

import networkx as nx
import pytest

from mcp_servers.kit import Draw
from tests.prove.known import TOOLS
from training_worker.prove.synthesis.chains import LENGTHS, draw_chain


def drawn(graph: nx.DiGraph, times: int = 8) -> list[tuple[str, tuple[str, ...]]]:
    return [(name, draw_chain(graph, name, Draw("chain", name, time))) for name in TOOLS for time in range(times)]


def test_a_chain_holds_its_target_and_no_tool_twice(graph: nx.DiGraph) -> None:
    for target, chain in drawn(graph):
        assert target in chain and len(set(chain)) == len(chain) <= max(LENGTHS)


def test_edges_that_lead_forward_hold_a_chain_together(graph: nx.DiGraph) -> None:
    for _, chain in drawn(graph):
        forward = nx.Graph()
        forward.add_nodes_from(chain)
        pairs = [(a, b) for position, a in enumerate(chain) for b in chain[position + 1 :]]
        forward.add_edges_from((a, b, graph.edges[a, b]) for a, b in pairs if graph.has_edge(a, b))
        assert nx.is_connected(forward), chain


def test_a_tool_without_edges_is_a_chain_of_its_own() -> None:
    lonely = nx.DiGraph()
    lonely.add_node("look")
    assert draw_chain(lonely, "look", Draw("any")) == ("look",)


def test_a_chain_ends_where_the_graph_ends() -> None:
    pair = nx.DiGraph([("look", "act", {"kind": "explicit"})])
    assert {draw_chain(pair, "act", Draw("pair", time)) for time in range(20)} == {("look", "act")}


@pytest.mark.parametrize("length", LENGTHS)
def test_lengths_come_as_often_as_they_should(length: int, graph: nx.DiGraph) -> None:
    lengths = Counter(len(chain) for _, chain in drawn(graph, 40))
    assert lengths[length] / lengths.total() == pytest.approx(LENGTHS[length], abs=0.05)


def test_the_order_in_which_edges_were_added_does_not_matter(graph: nx.DiGraph) -> None:
    turned = nx.DiGraph()
    turned.add_nodes_from(reversed(list(graph.nodes)))
    turned.add_edges_from(reversed(list(graph.edges(data=True))))
    assert drawn(turned) == drawn(graph)
