"""The graph: an edge is there exactly when running the pair showed it, and the runs can be had again."""

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

from mcp_servers.world import World
from tests.prove.known import SERVERS, TOOLS
from training_worker.prove.graph import FORMAT, build, candidates, load_or_build, part, prove, servers_of
from training_worker.prove.synthesis.conversation import Recipe, make
from training_worker.prove.trajectory import dumps

EXAMPLES = 24
ELSEWHERE = """
import hashlib, json, networkx as nx
from training_worker.prove.graph import build
from training_worker.prove.synthesis.conversation import Recipe, make
from training_worker.prove.trajectory import dumps

graph = build(servers={servers!r})
made = [make(index, "train", graph, Recipe())[0] for index in range({count})]
text = json.dumps(nx.node_link_data(graph, edges="edges"))
print(json.dumps([hashlib.sha256(text.encode()).hexdigest(), [example and dumps(example) for example in made]]))
"""


def proofs(graph: nx.DiGraph) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    for a, b, feeds in graph.edges(data="feeds"):
        for parameter, proof in feeds.items():
            yield a, b, parameter, proof


def as_text(graph: nx.DiGraph) -> str:
    return json.dumps(nx.node_link_data(graph, edges="edges"))


def outcome(world: World, tool: str, run: dict[str, Any]) -> bool:
    """Whether a run kept as evidence comes out the same again."""
    reply = world.call(tool, run["arguments"])
    return (reply.ok, reply.text) == (run["ok"], run["text"])


def test_every_proof_can_be_had_again_from_its_evidence(graph: nx.DiGraph) -> None:
    for a, b, _, proof in proofs(graph):
        opening = World.open(proof["seed"], servers_of(TOOLS[a][1], TOOLS[b][1]), "small")
        after = opening.fork()
        assert outcome(after, a, proof["producer"]), (a, b)
        assert outcome(after.fork(), b, proof["with_output"]), (a, b)
        assert outcome(after.fork(), b, proof["with_foreign"]), (a, b)
        assert outcome(opening.fork(), b, proof["without"]), (a, b)


def test_an_edge_was_shown_by_a_run_that_worked_and_one_with_another_worlds_id_that_did_not(graph: nx.DiGraph) -> None:
    for a, b, parameter, proof in proofs(graph):
        with_output, with_foreign = proof["with_output"], proof["with_foreign"]
        assert proof["producer"]["ok"] and with_output["ok"] and not with_foreign["ok"], (a, b)
        differing = {
            name for name, value in with_output["arguments"].items() if with_foreign["arguments"][name] != value
        }
        assert differing == {parameter}, (a, b)
        assert json.dumps(with_output["arguments"][parameter]) in proof["producer"]["text"], (a, b)


def test_the_consumer_of_an_edge_cannot_do_without_the_id(graph: nx.DiGraph) -> None:
    for a, b, parameter, proof in proofs(graph):
        arguments = {name: value for name, value in proof["with_output"]["arguments"].items() if name != parameter}
        world = World.open(proof["seed"], servers_of(TOOLS[a][1], TOOLS[b][1]), "small")
        assert world.call(a, proof["producer"]["arguments"]).ok
        assert not world.call(b, arguments).ok, (a, b)


def test_only_a_tool_that_writes_creates_what_the_next_one_needs(graph: nx.DiGraph) -> None:
    created = [(a, b) for a, b, made in graph.edges(data="created") if made]
    assert created and all(TOOLS[a][1].writes for a, _ in created)
    assert any(not TOOLS[a][1].writes for a, b, made in graph.edges(data="created") if not made)


def test_every_candidate_is_either_proven_or_listed_as_unproven(graph: nx.DiGraph) -> None:
    asked = {(a.name, b.name, parameter) for a, b, parameter, _ in candidates(tool for _, tool in TOOLS.values())}
    proven = {(a, b, parameter) for a, b, parameter, _ in proofs(graph)}
    unproven = set(map(tuple, graph.graph["unproven"]))
    assert proven | unproven == asked and not proven & unproven


def test_a_pair_that_execution_does_not_show_has_no_edge(graph: nx.DiGraph) -> None:
    """Answering an invitation gives the id of someone else's event, which nobody but its owner may cancel."""
    a, b = TOOLS["respond_to_invitation"][1], TOOLS["cancel_event"][1]
    assert (a, b, "event", "EventId") in candidates([a, b])
    proof = prove(a, b, "event", "EventId")
    assert proof is not None and not proof.holds
    assert not graph.has_edge(a.name, b.name)


def test_a_tool_is_a_node_with_its_server_and_no_tool_feeds_itself(graph: nx.DiGraph) -> None:
    assert dict(graph.nodes(data="server")) == {name: server.name for name, (server, _) in TOOLS.items()}
    assert not list(nx.selfloop_edges(graph))


def test_every_tool_that_needs_an_id_is_fed_by_some_tool(graph: nx.DiGraph) -> None:
    assert all(graph.in_degree(name) for name, (_, tool) in TOOLS.items() if tool.consumes)


def test_the_cached_graph_is_read_and_equals_the_one_built(graph: nx.DiGraph, tmp_path: Path) -> None:
    first = load_or_build(tmp_path / "new", servers=SERVERS)
    (path,) = (tmp_path / "new").iterdir()
    told: list[int] = []
    again = load_or_build(tmp_path / "new", lambda done, total: told.append(done), SERVERS)
    assert told == [] and path.name == f"graph-{FORMAT}-{graph.graph['fingerprint']}.json"
    assert as_text(first) == as_text(again) == as_text(graph)


@pytest.mark.parametrize("torn", ["", "{", "[]", "{}", '{"nodes": 1}', "half", "\udcff"])
def test_a_torn_cache_is_built_again(torn: str, graph: nx.DiGraph, tmp_path: Path) -> None:
    load_or_build(tmp_path, servers=SERVERS)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if torn == "half" else torn.encode("utf-8", "surrogateescape"))
    assert as_text(load_or_build(tmp_path, servers=SERVERS)) == as_text(graph)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("hash_seed", ["1", "4242"])
def test_another_process_with_another_hash_seed_makes_the_same_graph_and_the_same_examples(
    hash_seed: str, graph: nx.DiGraph
) -> None:
    command = [sys.executable, "-c", ELSEWHERE.format(count=EXAMPLES, servers=tuple(SERVERS))]
    said = subprocess.run(
        command, env={**os.environ, "PYTHONHASHSEED": hash_seed}, check=True, capture_output=True, text=True
    )
    digest, examples = json.loads(said.stdout)
    assert digest == hashlib.sha256(as_text(graph).encode()).hexdigest()
    own = [make(index, "train", graph, Recipe())[0] for index in range(EXAMPLES)]
    assert examples == [example and dumps(example) for example in own]


def test_building_tells_how_far_it_is() -> None:
    told: list[tuple[int, int]] = []
    build(lambda done, total: told.append((done, total)), SERVERS)
    assert [done for done, _ in told] == list(range(1, told[-1][1] + 1))


def test_what_is_proven_of_two_tools_does_not_depend_on_the_other_servers(graph: nx.DiGraph) -> None:
    alone = build(servers=["calendar", "banking"])
    shared = part(graph, ["banking", "calendar"])
    assert set(shared) == {name for name, (server, _) in TOOLS.items() if server.name != "email"}
    assert {(a, b): data for a, b, data in alone.edges(data=True)} == {
        (a, b): data for a, b, data in shared.edges(data=True)
    }
    with pytest.raises(KeyError, match="steam_engine"):
        part(graph, ["banking", "steam_engine"])
