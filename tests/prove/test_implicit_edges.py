"""Implicit edges: they are found by execution, and their evidence can be repeated."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_servers.catalogue import SERVERS
from mcp_servers.core import Session
from tests.prove.known import graph_of
from training_worker.graph.edge_probe import Run
from training_worker.graph.implicit_edges import ImplicitEdgeProof, enablings

SOME = ("vehicle", "filesystem", "banking")


@pytest.fixture(scope="module")
def implicit_edges() -> dict[tuple[str, str, str], ImplicitEdgeProof]:
    return {(name, *pair): evidence for name in SOME for pair, evidence in enablings(SERVERS[name]).items()}


def again(session: Session[Any], tool: str, run: Run) -> bool:
    """Return whether a run gives the same result again."""
    before = session.digest()
    reply = session.call(tool, run.arguments)
    return Run(run.arguments, reply.ok, reply.text, before, session.digest()) == run


@pytest.mark.long
def test_the_evidence_can_be_repeated(implicit_edges: dict[tuple[str, str, str], ImplicitEdgeProof]) -> None:
    for (server, first, then), evidence in implicit_edges.items():
        session = SERVERS[server].open(evidence.seed, "small")
        assert all(session.call(tool, arguments).ok for tool, arguments in evidence.earlier)
        assert again(session.fork(), then, evidence.refused)
        assert again(session, first, evidence.producer)
        assert again(session.fork(), then, evidence.enabled)


def test_the_second_is_refused_until_the_first_has_run_and_time_alone_does_not_help(
    implicit_edges: dict[tuple[str, str, str], ImplicitEdgeProof],
) -> None:
    for (server, first, then), evidence in implicit_edges.items():
        assert not evidence.refused.ok and evidence.producer.ok and evidence.enabled.ok and first != then
        assert evidence.refused.arguments == evidence.enabled.arguments
        session = SERVERS[server].open(evidence.seed, "small")
        for tool, arguments in evidence.earlier:
            session.call(tool, arguments)
        later = session.fork()
        later.call(first, evidence.producer.arguments)
        assert not session.call(then, evidence.refused.arguments, now=later.state.now).ok


def test_modes_signs_and_working_directories_are_found(
    implicit_edges: dict[tuple[str, str, str], ImplicitEdgeProof],
) -> None:
    pairs = set(implicit_edges)
    assert {
        ("vehicle", "start_engine", "shift_gear"),
        ("vehicle", "set_vehicle_lock", "move_vehicle_door"),
        ("vehicle", "select_driver_profile", "book_vehicle_service"),
        ("banking", "unfreeze_card", "set_card_limit"),
    } <= pairs
    assert any(first == "change_directory" for server, first, _ in pairs if server == "filesystem")


def test_the_shared_parameters_are_named(implicit_edges: dict[tuple[str, str, str], ImplicitEdgeProof]) -> None:
    assert implicit_edges["banking", "unfreeze_card", "set_card_limit"].shares == {"card": "card"}
    assert implicit_edges["vehicle", "start_engine", "shift_gear"].shares == {}


@pytest.mark.long
def test_an_edge_that_also_gives_something_is_explicit() -> None:
    graph = graph_of("banking", "vehicle")
    kinds: dict[str, list[dict[str, Any]]] = {"explicit": [], "implicit": []}
    for _, _, edge in graph.edges(data=True):
        kinds[edge["kind"]].append(edge)
    assert all(edge["feeds"] or edge["shows"] for edge in kinds["explicit"])
    assert kinds["implicit"] and all(edge["enables"] for edge in kinds["implicit"])
    assert not any(edge["feeds"] or edge["shows"] for edge in kinds["implicit"])
