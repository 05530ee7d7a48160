"""A model's view of the pairs of tools, and how far it agrees with what their execution proved."""

from __future__ import annotations

import json
import math
from itertools import cycle, permutations
from pathlib import Path

import networkx as nx
import pytest

from mcp_servers.catalogue import SERVERS
from tests.prove.known import graph_of
from tests.prove.serving import Answering, RequestBody, Serve
from training_worker.endpoint import Endpoint
from training_worker.synthesis.graph_agreement import KINDS, Difference, OfKind, compare, proven
from training_worker.synthesis.llm_graph import Dependency, Pair, classify, question

SERVER = "video_meeting"


@pytest.fixture(scope="module")
def graph() -> nx.DiGraph:
    return graph_of(SERVER)


def pair_in(body: RequestBody) -> Pair:
    lines = body["messages"][1]["content"].splitlines()
    a, b = (json.loads(line[3:])["name"] for line in lines)
    return a, b


def knowing(graph: nx.DiGraph, *, but: Pair | None = None) -> Answering:
    """Return a model that knows the graph, except for one pair."""

    def answer(body: RequestBody) -> str:
        a, b = pair_in(body)
        verdicts = {key: proven(graph, pair) for key, pair in (("a_to_b", (a, b)), ("b_to_a", (b, a)))}
        if but == (a, b):
            verdicts["a_to_b"] = next(kind for kind in KINDS if kind != verdicts["a_to_b"])
        return json.dumps(verdicts)

    return answer


def said(answering: Answering, serve: Serve, cache: Path) -> dict[Pair, Dependency | None]:
    with Endpoint(serve(answering).settings(cache)) as endpoint:
        return classify([SERVER], endpoint)


@pytest.mark.long
def test_every_ordered_pair_of_a_server_is_classified_with_half_as_many_requests(
    graph: nx.DiGraph, serve: Serve, tmp_path: Path
) -> None:
    there = serve(knowing(graph))
    with Endpoint(there.settings(tmp_path)) as endpoint:
        verdicts = classify([SERVER], endpoint)
    tools = list(SERVERS[SERVER].tools)
    assert set(verdicts) == set(permutations(tools, 2))
    assert len(there.requests) == math.comb(len(tools), 2)
    assert question(*tools[:2])[1].content.count('"returns"') == 2


def test_a_model_that_knows_the_graph_agrees_in_everything(graph: nx.DiGraph, serve: Serve, tmp_path: Path) -> None:
    agreement = compare(graph, said(knowing(graph), serve, tmp_path), "m", (SERVER,))
    assert agreement.kappa == 1 and agreement.differences == () and agreement.unanswered == 0
    for kind, of in agreement.kinds.items():
        assert of.proven == of.said == of.both
        assert of.precision == of.recall == (1 if of.proven else None), kind
    assert sum(map(sum, agreement.confusion)) == agreement.pairs


def test_the_one_pair_on_which_it_errs_is_named(graph: nx.DiGraph, serve: Serve, tmp_path: Path) -> None:
    first, then = list(SERVERS[SERVER].tools)[:2]
    agreement = compare(graph, said(knowing(graph, but=(first, then)), serve, tmp_path), "m", (SERVER,))
    assert [(one.first, one.then) for one in agreement.differences] == [(first, then)]
    assert agreement.kappa is not None and 0 < agreement.kappa < 1


def test_a_pair_without_an_answer_in_the_form_counts_for_nothing(
    graph: nx.DiGraph, serve: Serve, tmp_path: Path
) -> None:
    wrong = cycle(["explicit", '{"a_to_b": "explicit"}', '{"a_to_b": "maybe", "b_to_a": "none"}'])
    agreement = compare(graph, said(lambda body: next(wrong), serve, tmp_path), "m", (SERVER,))
    assert agreement.unanswered == agreement.pairs == 90
    assert agreement.kappa is None and agreement.kinds == {} and agreement.differences == ()


def test_the_figures_of_a_small_case_are_those_by_hand() -> None:
    """Of six pairs two are proven explicit and one implicit; the model sees one of the two, and one too many."""
    graph = nx.DiGraph()
    graph.add_edge("a", "b", kind="explicit")
    graph.add_edge("a", "c", kind="explicit")
    graph.add_edge("b", "c", kind="implicit")
    view: dict[Pair, Dependency | None] = dict.fromkeys(permutations("abc", 2), "none")
    view |= {("a", "b"): "explicit", ("c", "a"): "explicit"}
    agreement = compare(graph, view, "m", ("s",))
    assert agreement.kinds == {
        "explicit": OfKind(proven=2, said=2, both=1, precision=0.5, recall=0.5),
        "implicit": OfKind(proven=1, said=0, both=0, precision=0.0, recall=None),
        "none": OfKind(proven=3, said=4, both=2, precision=pytest.approx(2 / 3), recall=0.5),
    }
    assert agreement.confusion == ((1, 0, 1), (0, 0, 1), (1, 0, 2))
    by_chance = (2 * 2 + 1 * 0 + 3 * 4) / 36
    assert agreement.kappa == pytest.approx((3 / 6 - by_chance) / (1 - by_chance))
    assert agreement.differences == (
        Difference("a", "c", "explicit", "none"),
        Difference("b", "c", "implicit", "none"),
        Difference("c", "a", "none", "explicit"),
    )


def test_where_both_say_the_same_throughout_there_is_no_kappa() -> None:
    assert compare(nx.DiGraph(), {("a", "b"): "none", ("b", "a"): "none"}, "m", ("s",)).kappa is None
