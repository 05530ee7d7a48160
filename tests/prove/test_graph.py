"""The graph: an edge exists exactly where a run of the pair proved it, and each run can be repeated."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from mcp_servers.catalogue import TOOLS as EVERY
from mcp_servers.world import World
from tests.prove.known import SERVERS, TOOLS, graph_of, known_example
from training_worker.core.trajectory import dumps
from training_worker.graph.dependency_graph import FORMAT, build, load_or_build, part
from training_worker.graph.explicit_edges import NOTHING, Candidate, candidates, prove

EXAMPLES = 12
ONE = ("banking",)
TRAVEL = ("travel_booking", "maps", "food_delivery")
ELSEWHERE = """
import hashlib, json, networkx as nx
from training_worker.graph.dependency_graph import build
from dataclasses import replace
from training_worker.synthesis.conversation import Recipe, make
from training_worker.synthesis.knobs import TINY
from training_worker.core.trajectory import dumps

RECIPE = Recipe(knobs=replace(TINY, recovery=0.0))
graph = build(servers={servers!r})
made = [make(index, "train", graph, RECIPE)[0] for index in range({count})]
text = json.dumps(nx.node_link_data(graph, edges="edges"))
print(json.dumps([hashlib.sha256(text.encode()).hexdigest(), [example and dumps(example) for example in made]]))
"""


@pytest.fixture(scope="module")
def travel() -> nx.DiGraph:
    """Servers whose tools take plain values of each other: cities, seats, points, promo codes, what to search for."""
    return graph_of(*TRAVEL)


def proofs(graph: nx.DiGraph, *keys: str) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    for a, b, edge in graph.edges(data=True):
        for key in keys or ("feeds", "shows"):
            for parameter, proof in edge[key].items():
                yield a, b, parameter, proof


def opened(a: str, b: str, proof: dict[str, Any]) -> World:
    """Return the world in which a proof was run."""
    return World.open(proof["seed"], Candidate(a, b, "", "").servers, "small")


def as_text(graph: nx.DiGraph) -> str:
    return json.dumps(nx.node_link_data(graph, edges="edges"))


def outcome(world: World, tool: str, run: dict[str, Any]) -> bool:
    """Return whether a run stored as evidence gives the same result again and leaves the same world."""
    before = world.digest()
    reply = world.call(tool, run["arguments"])
    again = (reply.ok, reply.text, before, world.digest())
    return again == (run["ok"], run["text"], run["before"], run["after"])


def served(run: dict[str, Any]) -> bool:
    """Return whether a call found or did something."""
    return run["ok"] and run["text"] != NOTHING


def test_every_proof_can_be_repeated_from_its_evidence(graph: nx.DiGraph, travel: nx.DiGraph) -> None:
    for a, b, _, proof in (*proofs(graph), *proofs(travel)):
        opening = opened(a, b, proof)
        after = opening.fork()
        assert outcome(after, a, proof["producer"]), (a, b)
        assert outcome(after.fork(), b, proof["with_output"]), (a, b)
        assert outcome(after.fork(), b, proof["with_foreign"]), (a, b)
        assert outcome(opening.fork(), b, proof["without"]), (a, b)


def test_an_edge_has_a_run_that_worked_and_one_with_another_worlds_id_that_did_not(graph: nx.DiGraph) -> None:
    for a, b, parameter, proof in proofs(graph, "feeds"):
        with_output, with_foreign = proof["with_output"], proof["with_foreign"]
        assert proof["producer"]["ok"] and with_output["ok"] and not with_foreign["ok"], (a, b)
        assert differing(proof) == {parameter}, (a, b)
        assert json.dumps(with_output["arguments"][parameter]) in proof["producer"]["text"], (a, b)


def differing(proof: dict[str, Any]) -> set[str]:
    """Return the parameters in which the call with another world's value differs."""
    own, foreign = proof["with_output"]["arguments"], proof["with_foreign"]["arguments"]
    return {name for name, value in own.items() if foreign[name] != value}


def test_a_value_that_another_world_shows_is_refused_or_finds_nothing(travel: nx.DiGraph) -> None:
    edges = list(proofs(travel, "shows"))
    assert {b for _, b, _, _ in edges} >= {"choose_flight_seat", "search_hotels", "reverse_geocode", "apply_food_promo"}
    for a, b, parameter, proof in edges:
        assert proof["producer"]["ok"] and served(proof["with_output"]), (a, b)
        assert not served(proof["with_foreign"]) and "invalid_arguments" not in proof["with_foreign"]["text"], (a, b)
        assert differing(proof) == {parameter}, (a, b)


def test_a_value_that_a_tool_was_called_with_is_not_what_it_gives(travel: nx.DiGraph) -> None:
    for a, b, parameter, proof in proofs(travel, "shows"):
        value = proof["with_output"]["arguments"][parameter]
        assert json.dumps(value, ensure_ascii=False) in proof["producer"]["text"], (a, b)
        assert value not in proof["producer"]["arguments"].values(), (a, b)


def test_no_pin_or_password_is_given_from_tool_to_tool() -> None:
    for one in candidates(tool for _, tool in EVERY.values()):
        assert one.parameter not in EVERY[one.taker][1].sensitive
        assert one.parameter in EVERY[one.taker][1].required


def test_the_consumer_of_an_edge_cannot_do_without_what_it_takes(graph: nx.DiGraph, travel: nx.DiGraph) -> None:
    for a, b, parameter, proof in (*proofs(graph), *proofs(travel)):
        arguments = {name: value for name, value in proof["with_output"]["arguments"].items() if name != parameter}
        world = opened(a, b, proof)
        assert world.call(a, proof["producer"]["arguments"]).ok
        assert not world.call(b, arguments).ok, (a, b)


@pytest.mark.long
def test_the_graph_is_the_same_for_one_process_and_for_two() -> None:
    two = ("calendar", "banking")
    assert as_text(build(servers=two, processes=2)) == as_text(graph_of(*two))


def test_only_a_tool_that_writes_creates_what_the_next_one_needs(graph: nx.DiGraph) -> None:
    created = [(a, b) for a, b, made in graph.edges(data="created") if made]
    assert created and all(TOOLS[a][1].writes for a, _ in created)
    assert any(not TOOLS[a][1].writes for a, b, made in graph.edges(data="created") if not made)


def test_every_candidate_is_either_proven_or_listed_as_unproven(graph: nx.DiGraph) -> None:
    expected = {(one.giver, one.taker, one.parameter) for one in candidates(tool for _, tool in TOOLS.values())}
    proven = {(a, b, parameter) for a, b, parameter, _ in proofs(graph)}
    unproven = set(map(tuple, graph.graph["unproven"]))
    assert proven | unproven == expected and not proven & unproven


def test_a_pair_that_execution_does_not_show_has_no_edge(graph: nx.DiGraph) -> None:
    """A response to an invitation gives the id of another user's event, which only its owner may cancel."""
    pair = Candidate("respond_to_invitation", "cancel_event", "event", "EventId")
    assert pair in candidates(tool for _, tool in TOOLS.values())
    assert prove(pair) is None
    assert not graph.has_edge(pair.giver, pair.taker)


def test_a_tool_is_a_node_with_its_server_and_no_tool_feeds_itself(graph: nx.DiGraph) -> None:
    assert dict(graph.nodes(data="server")) == {name: server.name for name, (server, _) in TOOLS.items()}
    assert not list(nx.selfloop_edges(graph))


def test_every_tool_that_needs_an_id_is_fed_by_some_tool(graph: nx.DiGraph) -> None:
    assert all(graph.in_degree(name) for name, (_, tool) in TOOLS.items() if tool.consumes)


@pytest.mark.long
def test_the_cached_graph_is_read_and_equals_the_one_built(cached: Path) -> None:
    progress: list[int] = []
    again = load_or_build(cached.parent, lambda done, total: progress.append(done), ONE)
    own = graph_of(*ONE)
    assert progress == [] and cached.name == f"graph-{FORMAT}-{own.graph['fingerprint']}.json"
    assert as_text(again) == as_text(own)


@pytest.fixture(scope="module")
def cached(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file in which the graph of one server is cached."""
    folder = tmp_path_factory.mktemp("kept")
    load_or_build(folder, servers=ONE)
    (path,) = folder.iterdir()
    return path


@pytest.mark.parametrize("torn", ["", "{", "[]", "{}", '{"nodes": 1}', "half", "\udcff"])
def test_a_torn_cache_is_built_again(torn: str, cached: Path, tmp_path: Path) -> None:
    path, content = tmp_path / cached.name, cached.read_bytes()
    path.write_bytes(content[: len(content) // 2] if torn == "half" else torn.encode("utf-8", "surrogateescape"))
    assert as_text(load_or_build(tmp_path, servers=ONE)) == as_text(graph_of(*ONE))
    assert path.read_bytes() == content


def test_another_process_with_another_hash_seed_makes_the_same_graph_and_the_same_examples(graph: nx.DiGraph) -> None:
    command = [sys.executable, "-c", ELSEWHERE.format(count=EXAMPLES, servers=tuple(SERVERS))]
    environment = {**os.environ, "PYTHONHASHSEED": "4242"}
    said = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    digest, examples = json.loads(said.stdout)
    assert digest == hashlib.sha256(as_text(graph).encode()).hexdigest()
    own = [known_example(index) for index in range(EXAMPLES)]
    assert examples == [example and dumps(example) for example in own]


def test_building_reports_its_progress() -> None:
    progress: list[tuple[int, int]] = []
    build(lambda done, total: progress.append((done, total)), ONE)
    done = [done for done, _ in progress]
    assert done == sorted(set(done)) and len(done) > len(ONE)
    assert {total for _, total in progress} == {done[-1]}


@pytest.mark.long
def test_what_is_proven_of_two_tools_does_not_depend_on_the_other_servers(graph: nx.DiGraph) -> None:
    alone = graph_of("calendar", "banking")
    shared = part(graph, ["banking", "calendar"])
    assert list(shared) == list(alone)
    assert set(shared) == {name for name, (server, _) in TOOLS.items() if server.name != "email"}
    assert {(a, b): data for a, b, data in alone.edges(data=True)} == {
        (a, b): data for a, b, data in shared.edges(data=True)
    }
    assert list(part(graph, ["banking"])) == [name for name in graph if TOOLS[name][0].name == "banking"]
    with pytest.raises(KeyError, match="steam_engine"):
        part(graph, ["banking", "steam_engine"])
