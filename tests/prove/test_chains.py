"""Conversations about one chain of tools alone."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import pytest

from training_worker.graph.dependency_graph import restrict_to_chain
from training_worker.jobs.dataset import build_chain_graph
from training_worker.jobs.job_context import JobRefusedError
from training_worker.synthesis.conversation import Recipe
from training_worker.synthesis.dataset import synthesize
from training_worker.synthesis.knobs import TINY

CHAIN = ("list_accounts", "schedule_payment", "cancel_scheduled_payment")


def test_every_conversation_calls_the_tools_of_the_chain_in_order(graph: nx.DiGraph) -> None:
    made, _ = synthesize(12, "train", restrict_to_chain(graph, CHAIN), Recipe(1, knobs=TINY), processes=1)
    talks = [one for one in made if one.kind == "chain"]
    assert len(talks) >= 5
    for example in talks:
        called = [call.name for step in example.steps for call in step.calls]
        assert {*CHAIN} <= {*called}, called
        assert all(called.index(one) < called.index(other) for one, other in pairwise(CHAIN)), called


def test_the_graph_of_a_chain_is_as_large_as_before(graph: nx.DiGraph) -> None:
    alone = restrict_to_chain(graph, CHAIN)
    assert set(alone.edges) == set(graph.edges) and "chain" not in graph.graph


def test_a_chain_without_an_edge_or_of_unknown_tools_is_none(graph: nx.DiGraph) -> None:
    with pytest.raises(ValueError, match="No edge leads from cancel_scheduled_payment to list_accounts"):
        restrict_to_chain(graph, ("cancel_scheduled_payment", "list_accounts"))
    with pytest.raises(KeyError, match="no_such_tool"):
        restrict_to_chain(graph, ("list_accounts", "no_such_tool"))


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
    with pytest.raises(JobRefusedError) as refused:
        build_chain_graph(chain, graph)
    assert str(refused.value).startswith(says)
