"""Chains: different tools around a target, held together by edges that lead forward."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from itertools import combinations
from pathlib import Path
from statistics import mean, pstdev

import networkx as nx
import pytest

from mcp_servers.kit import Draw
from tests.prove.known import TOOLS
from training_worker.jobs.dataset import about
from training_worker.jobs.work import Refused
from training_worker.prove.graph import along, load_or_build
from training_worker.prove.synthesis import chains
from training_worker.prove.synthesis.chains import LENGTHS, draw_chain
from training_worker.prove.synthesis.conversation import Recipe
from training_worker.prove.synthesis.dataset import synthesize

TRAINED_ON = "efa909905883bc85df3772b54ff743a229277782cd207da008c7383050d3a74c"


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


def test_a_graph_for_one_chain_alone_gives_that_one_and_is_as_large_as_before(graph: nx.DiGraph) -> None:
    chain = ("list_accounts", "schedule_payment", "cancel_scheduled_payment")
    alone = along(graph, chain)
    assert {drawn for _, drawn in drawn(alone, 2)} == {chain}
    assert set(alone.edges) == set(graph.edges) and "chain" not in graph.graph


def test_a_chain_without_an_edge_or_of_unknown_tools_is_none(graph: nx.DiGraph) -> None:
    with pytest.raises(ValueError, match="No edge leads from cancel_scheduled_payment to list_accounts"):
        along(graph, ("cancel_scheduled_payment", "list_accounts"))
    with pytest.raises(KeyError, match="no_such_tool"):
        along(graph, ("list_accounts", "no_such_tool"))


@pytest.mark.parametrize(
    ("chain", "says"),
    [
        ("list_accounts", "chain must be a list of 2 to 5 different tools of these servers, not 'list_accounts'."),
        (["list_accounts"], "chain must be a list"),
        (["list_accounts", "list_accounts"], "chain must be a list"),
        (["list_accounts", "no_such_tool"], "chain must be a list"),
        (["list_accounts", {}], "chain must be a list"),
        (
            ["cancel_scheduled_payment", "list_accounts"],
            "No edge leads from cancel_scheduled_payment to list_accounts.",
        ),
    ],
)
def test_a_job_about_what_is_no_chain_is_refused_in_a_sentence(chain: object, says: str, graph: nx.DiGraph) -> None:
    with pytest.raises(Refused) as refused:
        about(chain, graph)
    assert str(refused.value).startswith(says)


def test_every_conversation_made_from_it_is_about_that_chain(graph: nx.DiGraph) -> None:
    chain = ("list_accounts", "schedule_payment", "cancel_scheduled_payment")
    made, _ = synthesize(12, "train", along(graph, chain), Recipe(1), processes=1)
    called = {tuple(call.name for step in one.steps for call in step.calls) for one in made if one.kind == "chain"}
    assert called == {chain} and all({*chain[:-1]} <= {*one.candidates} for one in made if one.kind != "irrelevance")


def test_the_chains_that_the_small_policy_was_trained_on_stay_as_they_are(graph: nx.DiGraph) -> None:
    names = list(TOOLS)
    first = [draw_chain(graph, names[i % len(names)], Draw("chain", i), every_edge=False) for i in range(50)]
    assert hashlib.sha256(json.dumps(first).encode()).hexdigest() == TRAINED_ON


def test_every_edge_can_be_drawn_and_every_tool_is_reached(graph: nx.DiGraph) -> None:
    used = Counter(edge for _, chain in drawn(graph, 60) for edge in combinations(chain, 2) if graph.has_edge(*edge))
    assert set(used) == set(graph.edges)
    assert {name for _, chain in drawn(graph, 1) for name in chain} == set(graph)


def test_weights_even_out_how_often_an_edge_is_drawn(graph_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most so where some tools have eighty edges and some have one: in the graph of all servers."""
    whole = load_or_build(graph_folder)
    weighted = spread_of_uses(whole)
    monkeypatch.setattr(chains, "weights", lambda graph, before, after: [1] * len(before + after))
    assert weighted < spread_of_uses(whole)


def spread_of_uses(graph: nx.DiGraph) -> float:
    """The standard deviation of the uses of an edge, in shares of their mean."""
    made = (draw_chain(graph, name, Draw("chain", name, time)) for name in graph for time in range(12))
    used = Counter(edge for chain in made for edge in combinations(chain, 2) if graph.has_edge(*edge))
    uses = [used[edge] for edge in graph.edges]
    return pstdev(uses) / mean(uses)


def test_only_edges_that_give_an_id_are_followed_when_asked(graph: nx.DiGraph) -> None:
    for name in TOOLS:
        chain = draw_chain(graph, name, Draw("ids", name), every_edge=False)
        ids = nx.Graph((a, b) for a, b in combinations(chain, 2) if graph.has_edge(a, b) and graph.edges[a, b]["feeds"])
        joined = not any(graph.edges[edge]["feeds"] for edge in (*graph.in_edges(name), *graph.out_edges(name)))
        assert joined or nx.is_connected(ids), chain


@pytest.mark.parametrize("length", LENGTHS)
def test_lengths_come_as_often_as_they_should(length: int, graph: nx.DiGraph) -> None:
    lengths = Counter(len(chain) for _, chain in drawn(graph, 40))
    assert lengths[length] / lengths.total() == pytest.approx(LENGTHS[length], abs=0.05)


def test_the_order_in_which_edges_were_added_does_not_matter(graph: nx.DiGraph) -> None:
    turned = nx.DiGraph()
    turned.add_nodes_from(reversed(list(graph.nodes)))
    turned.add_edges_from(reversed(list(graph.edges(data=True))))
    assert drawn(turned) == drawn(graph)
