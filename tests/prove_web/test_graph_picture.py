"""The picture of the graph: layout, drawing, chains, colours, replayed evidence, and who may see it."""

import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from mcp_servers.core import Draw
from prove_web.accounts.models import Project, User
from prove_web.experiments.models import Point
from prove_web.live.models import Job, Kind, State
from prove_web.servers import graph_queries as stored_graphs
from prove_web.servers.graph_queries import Proven
from prove_web.servers.models import LiveSession
from prove_web.servers.picture import layout, legend
from prove_web.servers.picture.chains import LONGEST, chains
from prove_web.servers.picture.colours import by_coverage, by_drift, by_success
from prove_web.servers.picture.evidence_session import scene
from prove_web.servers.picture.params import GraphParams, distances
from prove_web.servers.picture.serializers import MOST, bundle_edges
from prove_web.trajectories.models import Dataset
from tests.site.running import ROOT
from training_worker.graph.dependency_graph import graph_path

from .examples import chain as conversation
from .examples import dataset_of
from .trained import run_of

pytestmark = pytest.mark.django_db
QUERIES: list[dict[str, str]] = [
    {},
    {"server": "banking"},
    {"kind": "implicit"},
    {"kind": "crosses", "q": "event"},
    {"q": "AccountId"},
    {"between": "calendar~email"},
    {"tool": "look_up_address"},
    {"tool": "look_up_address", "hops": "2"},
    {"tool": "look_up_address", "hops": "3", "kind": "plain"},
    {"server": "no such server", "tool": "no such tool", "hops": "9", "between": "a~b", "kind": "none such"},
]


@pytest.fixture(scope="module")
def full_graph(graph_folder: Path) -> Proven:
    """Read the graph of all servers as pages do."""
    found = stored_graphs.read(graph_path(graph_folder), 0)
    assert found
    return found


@pytest.fixture(scope="module")
def laid_out(full_graph: Proven, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lay that graph out once, which is slow, and return the folder with the layout."""
    folder = tmp_path_factory.mktemp("layout")
    layout.load_layout(full_graph, folder)
    return folder


@pytest.fixture
def job(project: Project, graph_folder: Path, laid_out: Path) -> Job:
    """Create the job of a project whose graph is proven and laid out."""
    job = Job.objects.create(project=project, kind=Kind.GRAPH, title="Dependency graph", state=State.DONE)
    shutil.copytree(laid_out, job.out)
    shutil.copyfile(graph_path(graph_folder), job.out / "graph.json")
    return job


@pytest.fixture
def get(project: Project, job: Job, victor: User, as_user: Callable[[User], Client]) -> Callable[..., Any]:
    """Return a function that requests a page of the project as a viewer."""
    client = as_user(victor)

    def ask(name: str, headers: Any = None, **query: str) -> Any:
        return client.get(reverse(name, args=project.path), query, headers=headers)

    return ask


def lines_of(data: dict[str, Any]) -> int:
    """Count the edges that the lines of a picture represent."""
    return len(data["edges"]) + sum(count for _, _, count in data["bundles"])


# Layout


def test_every_tool_has_a_place_in_the_disc_of_its_server_and_none_is_on_anothers_spot(full_graph: Proven) -> None:
    found = layout.lay_out(full_graph.nodes, full_graph.by_names)
    assert {*found.tools} == {node.name for node in full_graph.nodes}
    for node in full_graph.nodes:
        tool, server = found.tools[node.name], found.servers[node.server]
        assert math.dist((tool.x, tool.y), (server.x, server.y)) < server.r
    for a, b in pairs(full_graph.nodes):
        if a.server == b.server:
            one, other = found.tools[a.name], found.tools[b.name]
            assert math.dist((one.x, one.y), (other.x, other.y)) > 0.9 * layout.SPACING


def test_no_server_touches_another(full_graph: Proven) -> None:
    for a, b in pairs(layout.lay_out(full_graph.nodes, full_graph.by_names).servers.values()):
        assert math.dist((a.x, a.y), (b.x, b.y)) > a.r + b.r


def pairs(things: Any) -> Iterator[tuple[Any, Any]]:
    known = list(things)
    return ((a, b) for place, a in enumerate(known) for b in known[place + 1 :])


@pytest.mark.long
def test_the_same_graph_is_laid_out_the_same_in_any_order_and_process(full_graph: Proven, graph_folder: Path) -> None:
    draw = Draw("order")
    here = layout.lay_out(draw.shuffle_items(full_graph.nodes), draw.shuffle_items([*full_graph.by_names]))
    script = (
        "import sys, pathlib, django; django.setup()\n"
        "from prove_web.servers import graph_queries\n"
        "from prove_web.servers.picture.layout import lay_out\n"
        "found = graph_queries.read(pathlib.Path(sys.argv[1]), 0)\n"
        "print(lay_out(set(found.nodes), set(found.by_names)).as_json)\n"
    )
    known = {**os.environ, "PYTHONHASHSEED": "7", "DJANGO_SETTINGS_MODULE": "prove_web.settings"}
    command = [sys.executable, "-c", script, str(graph_path(graph_folder))]
    there = subprocess.run(command, cwd=ROOT, env=known, capture_output=True, text=True, check=True)
    assert json.loads(there.stdout)["tools"] == json.loads(here.as_json)["tools"]
    assert json.loads(there.stdout)["servers"] == json.loads(here.as_json)["servers"]


def test_a_graph_is_laid_out_once_and_again_when_its_edges_or_its_file_are_others(
    full_graph: Proven, tmp_path: Path
) -> None:
    few = Proven(full_graph.edges[:40], (), "", full_graph.nodes)
    made = layout.load_layout(few, tmp_path)
    [file] = tmp_path.iterdir()
    file.write_text(file.read_text("utf-8").replace(f'"x": {made.tools["pay_payee"].x},', '"x": 12345,'), "utf-8")
    assert layout.load_layout(few, tmp_path).tools["pay_payee"].x == 12345, "it comes from the file"
    file.write_text('{"torn', "utf-8")
    assert layout.load_layout(few, tmp_path) == made
    assert layout.load_layout(Proven(full_graph.edges[:41], (), "", full_graph.nodes), tmp_path).key != made.key


def test_a_graph_of_one_tool_or_of_none_has_a_layout(full_graph: Proven) -> None:
    assert layout.lay_out((), ()).tools == {}
    [one] = layout.lay_out(full_graph.nodes[:1], ()).tools.values()
    assert (one.x, one.y) == (0, 0)


# Drawing


@given(
    most=st.integers(250, 2_600), opened=st.sampled_from(["", "filesystem", "travel_booking"]), named=st.integers(0, 9)
)
def test_no_edge_is_lost_or_drawn_twice_however_they_are_bundled(most: int, opened: str, named: int) -> None:
    edges = FULL_GRAPH[0].edges
    chosen = [edge.names for edge in edges[::300][:named]]
    found = bundle_edges(edges, opened, chosen, most)
    there = Counter([edge.names for edge in (*found.edges, *(one for each in found.bundles for one in each.edges))])
    assert there == Counter(edge.names for edge in edges)
    assert found.lines <= most
    assert {*chosen} <= {edge.names for edge in found.edges}
    assert all(edge.servers == each.servers for each in found.bundles for edge in each.edges)


FULL_GRAPH: list[Proven] = []


@pytest.fixture(autouse=True)
def known_to_laws(full_graph: Proven) -> None:
    """Give the graph to the hypothesis tests, which take no fixtures."""
    FULL_GRAPH[:] = [full_graph]


def test_the_full_graph_is_bundled_between_servers_except_for_the_opened_one(full_graph: Proven) -> None:
    closed, opened = bundle_edges(full_graph.edges), bundle_edges(full_graph.edges, "travel_booking")
    assert len(full_graph.edges) > MOST >= closed.lines
    assert all(not edge.crosses for edge in closed.edges), "within a server each edge is a line"
    assert sum("travel_booking" in edge.servers for edge in opened.edges) > sum(
        "travel_booking" in edge.servers for edge in closed.edges
    )


def test_few_edges_are_not_bundled(full_graph: Proven) -> None:
    few = [edge for edge in full_graph.edges if "banking" in edge.servers]
    assert bundle_edges(few).edges == tuple(few) and bundle_edges(few).bundles == ()


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_picture_and_table_are_about_the_same_edges(query: dict[str, str], get: Callable[..., Any]) -> None:
    data, page = get("graph-data", **query).json(), get("graph", **query).content.decode()
    [said] = re.findall(r"([\d,]+) of ([\d,]+) edges", page)
    assert said == (f"{data['found']:,}", f"{data['total']:,}")
    assert lines_of(data) == data["found"] and data["drawn"] <= MOST
    assert query.get("between") != "calendar~email" or data["found"] > 0


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_a_neighbourhood_is_what_lies_so_many_edges_away(hops: int, full_graph: Proven) -> None:
    undirected = nx.Graph([*full_graph.by_names])
    for tool in ("transfer_money", "start_engine", "look_up_address"):
        near = nx.single_source_shortest_path_length(undirected, tool, cutoff=hops)
        assert distances(tool, full_graph.by_names, hops) == near
        found = GraphParams(tool=tool, hops=hops).edges(full_graph)
        assert {name for edge in found for name in edge.names} == {*near}


def test_an_edge_that_is_chosen_is_drawn_where_the_filter_leaves_it_out(get: Callable[..., Any]) -> None:
    data = get("graph-data", server="banking", edge="create_event~get_event").json()
    names = [tool[0] for tool in data["tools"]]
    assert [names.index("create_event"), names.index("get_event")] in [edge[:2] for edge in data["edges"]]
    assert data["found"] == get("graph-data", server="banking").json()["found"]


# Chains


@pytest.mark.parametrize(
    ("start", "end"), [("list_accounts", "cancel_scheduled_payment"), ("list_calendars", "cancel_event")]
)
def test_a_chain_follows_edges_over_different_tools_and_the_shortest_come_first(
    start: str, end: str, full_graph: Proven
) -> None:
    found = chains(full_graph.by_names, start, end)
    graph = nx.DiGraph([*full_graph.by_names])
    shortest = {tuple(path) for path in nx.all_shortest_paths(graph, start, end)}
    assert found and {one.tools for one in found if one.shortest} <= shortest
    for one in found:
        assert one.tools[0] == start and one.tools[-1] == end
        assert len({*one.tools}) == len(one.tools) <= LONGEST
        assert all(names in full_graph.by_names for names in one.names)
    assert [one.shortest for one in found] == sorted((one.shortest for one in found), reverse=True)
    assert len({one.tools for one in found}) == len(found)


def test_chains_are_the_same_in_any_order_of_edges_and_others_with_another_seed(full_graph: Proven) -> None:
    names, ends = Draw("names").shuffle_items([*full_graph.by_names]), ("list_calendars", "cancel_event")
    assert chains(names, *ends, 3) == chains(full_graph.by_names, *ends, 3)
    assert chains(full_graph.by_names, *ends, 3) != chains(full_graph.by_names, *ends, 4)


@pytest.mark.parametrize(
    ("start", "end"), [("list_accounts", "list_accounts"), ("nothing", "list_accounts"), ("pay_payee", "open_trunk")]
)
def test_where_no_chain_leads_there_is_none(start: str, end: str, full_graph: Proven, get: Callable[..., Any]) -> None:
    assert chains(full_graph.by_names, start, end) == []
    assert "Send to synthesis" not in get("graph", start=start, end=end, chain="1").content.decode()


def test_a_chosen_chain_is_in_the_picture_and_can_be_sent_to_synthesis(
    get: Callable[..., Any], project: Project, mary: User, as_user: Callable[[User], Client]
) -> None:
    query = {"start": "list_accounts", "end": "cancel_scheduled_payment", "chain": "1"}
    chain = get("graph-data", **query).json()["chain"]
    assert chain == ["list_accounts", "schedule_payment", "cancel_scheduled_payment"]
    assert "Send to synthesis" not in get("graph", **query).content.decode(), "a viewer launches nothing"
    client = as_user(mary)
    page = client.get(reverse("graph", args=project.path), query).content.decode()
    [link] = re.findall(r'href="([^"]*/datasets/new/\?chain=[^"]*)"', page)
    form = client.get(link).content.decode()
    assert all(f"<code>{tool}</code>" in form for tool in chain) and 'name="servers"' not in form
    fields = {"chain": ",".join(chain), "train": "50", "held_out": "10", "candidates": "8", "seed": "1"}
    assert client.post(reverse("dataset-new", args=project.path), fields).status_code == 302
    spec = Dataset.objects.get(project=project).job.spec
    assert spec == {"chain": chain, "servers": ["banking"], "seed": 1, "train": 50, "held_out": 10, "candidates": 8}


@pytest.mark.parametrize(
    "chain", ["transfer_money", "transfer_money,no_such_tool", "<script>,pay_payee", "a,b,c,d,e,f"]
)
def test_an_invalid_chain_is_refused_with_a_reason(
    chain: str, project: Project, mary: User, as_user: Callable[[User], Client]
) -> None:
    fields = {"chain": chain, "train": "50", "held_out": "10", "candidates": "8", "seed": "1"}
    answer = as_user(mary).post(reverse("dataset-new", args=project.path), fields)
    assert answer.status_code == 422 and "A chain has 2 to 5 known tools" in answer.content.decode()
    assert "<script>" not in answer.content.decode().replace("<script src", "") or chain[0] != "<"


# Colours


def test_coverage_counts_the_conversations_that_call_a_tool_or_use_an_edge(
    project: Project, full_graph: Proven
) -> None:
    example = conversation(3)
    dataset = dataset_of(project, [example])
    found = by_coverage(full_graph, dataset)
    called = {call.name for step in example.steps for call in step.calls}
    assert {name for name, look in found.tools.items() if look} == called
    giver, taker = example.edges[0]
    used = example.steps[giver].calls[0].name, example.steps[taker].calls[0].name
    assert found.edges[used] > 0 and sum(look > 0 for look in found.edges.values()) <= len(example.edges)
    assert found.notes[used[0]] == "in 1 of 1 conversations" and found.tool_looks[0].hollow


def run_with_tools(project: Project, **tools: tuple[int, int]) -> Any:
    run = run_of(project)
    Point.objects.create(run=run, step=1, metrics={"tools": {name: list(counts) for name, counts in tools.items()}})
    return run


def test_success_and_drift_are_those_of_the_runs(project: Project, dataset: Dataset) -> None:
    before = run_with_tools(project, pay_payee=(10, 5), create_event=(10, 1), get_event=(4, 0), nonsense=(3, 3))
    after = run_with_tools(project, pay_payee=(10, 1), create_event=(10, 4), list_accounts=(2, 0))
    success = by_success(after)
    looks = {name: success.tool_looks[look].label for name, look in success.tools.items()}
    assert looks == {"pay_payee": "80 to 95 %", "create_event": "50 to 80 %", "list_accounts": "95 % and more"}
    drift = by_drift(after, before)
    looks = {name: drift.tool_looks[look].label for name, look in drift.tools.items()}
    assert looks == {"pay_payee": "Better by 10 or more", "create_event": "Worse by 10 points or more"}
    assert drift.notes["pay_payee"] == "50% to 90%, +40.0 points"


@pytest.fixture
def dataset(project: Project) -> Dataset:
    return dataset_of(project)


@pytest.mark.parametrize(
    ("change", "look"), [(-1, 0), (-0.1, 0), (-0.05, 1), (-0.02, 1), (0, 2), (0.019, 2), (0.02, 3), (0.1, 4), (1, 4)]
)
def test_what_is_exactly_at_a_limit_has_changed(change: float, look: int) -> None:
    assert legend.of_change(change) == look


@given(st.lists(st.integers(0, 10_000), max_size=60))
def test_each_count_lies_in_one_range_and_more_is_never_less(counts: list[int]) -> None:
    ranges = legend.quarters(counts)
    looks = [legend.of_amount(ranges, count) for count in sorted(counts)]
    assert looks == sorted(looks) and all(
        (look == 0) == (count == 0) for look, count in zip(looks, sorted(counts), strict=True)
    )
    assert all(
        ranges[look - 1][0] <= count <= ranges[look - 1][1]
        for look, count in zip(looks, sorted(counts), strict=True)
        if look
    )
    assert len(legend.amounts(ranges, "none")) == len(ranges) + 1 <= 5


@pytest.mark.parametrize("by", ["coverage", "success", "drift"])
def test_without_anything_to_colour_by_the_legend_says_so(by: str, get: Callable[..., Any]) -> None:
    assert re.search(r"No dataset|No run|two runs", get("graph", by=by).content.decode())
    assert {tool[4] for tool in get("graph-data", by=by).json()["tools"]} == {0}


@pytest.mark.parametrize("by", ["kind", "coverage", "success", "drift"])
def test_looks_differ_in_more_than_colour_and_the_legend_names_each(
    by: str, get: Callable[..., Any], project: Project
) -> None:
    dataset_of(project, [conversation()])
    for failures in (1, 2):
        run_with_tools(project, pay_payee=(10, failures))
    data, page = get("graph-data", by=by).json(), get("graph", by=by).content.decode()
    for looks in data["looks"].values():
        without = [json.dumps({**look, "colour": ""}) for look in looks]
        assert len({*without}) == len(without) or by == "drift" or [look["width"] for look in looks]
    legend = page[page.index('aria-label="Legend"') :]
    assert legend[: legend.index("</ul>")].count("<li>") == sum(map(len, data["looks"].values())) + 1


# The data and its permissions


def test_the_data_is_sent_again_only_when_it_has_changed(get: Callable[..., Any]) -> None:
    first = get("graph-data", server="banking")
    again = {"If-None-Match": first["ETag"]}
    assert "private" in first["Cache-Control"] and "no-cache" in first["Cache-Control"]
    assert get("graph-data", headers=again, server="banking").status_code == 304
    assert get("graph-data", headers=again, server="email").status_code == 200


def test_the_page_holds_no_picture_but_its_address(get: Callable[..., Any], project: Project, job: Job) -> None:
    for made in job.out.glob("layout-*.json"):
        made.unlink()
    page = get("graph").content.decode()
    assert f'data-url="{reverse("graph-data", args=project.path)}"' in page
    assert not list(job.out.glob("layout-*.json")), "nothing is laid out for a page that only names it"
    get("graph-data")
    assert len(list(job.out.glob("layout-*.json"))) == 1


def test_a_part_of_the_page_comes_alone(get: Callable[..., Any]) -> None:
    for part in ("found", "graph-panel", "graph-legend"):
        answer = get("graph", headers={"HX-Request": "true", "HX-Target": f"div#{part}"}, tool="pay_payee")
        text = answer.content.decode()
        assert f'id="{part}"' in text and "<html" not in text and "HX-Target" in answer["Vary"]


def test_without_a_graph_there_is_no_picture_and_no_evidence(
    project: Project, bob: User, as_user: Callable[[User], Client]
) -> None:
    client = as_user(bob)
    assert client.get(reverse("graph-data", args=project.path)).json() == {}
    assert client.post(reverse("graph-open", args=project.path), {"edge": "a~b"}).status_code == 302
    assert not LiveSession.objects.exists()


def test_a_stranger_gets_no_picture_and_a_viewer_opens_no_session(
    project: Project, job: Job, charlie: User, victor: User, as_user: Callable[[User], Client]
) -> None:
    assert as_user(charlie).get(reverse("graph-data", args=project.path)).status_code == 404
    posted = {"edge": "list_accounts~get_account", "parameter": "account"}
    for user, status in ((charlie, 404), (victor, 403)):
        assert as_user(user).post(reverse("graph-open", args=project.path), posted).status_code == status
    assert not LiveSession.objects.exists()


# Evidence


def test_replayed_evidence_has_the_same_result(
    full_graph: Proven, project: Project, job: Job, bob: User, as_user: Callable[[User], Client]
) -> None:
    client = as_user(bob)
    implicit = [edge for edge in full_graph.edges if edge.enables and edge.enables["earlier"]][::20]
    for edge in (*full_graph.edges[::400], *implicit):
        for parameter in [name for name, _ in edge.proofs] or [""]:
            posted = {"edge": f"{edge.producer}~{edge.consumer}", "parameter": parameter}
            answer = client.post(reverse("graph-open", args=project.path), posted, follow=True)
            evidence, session = scene(edge, parameter), LiveSession.objects.first()
            last = session.calls.order_by("-position").first()
            assert evidence and (last.ok, last.text) == (evidence.run["ok"], evidence.run["text"])
            assert session.calls.count() == len(evidence.earlier) + 1 and session.seed == evidence.seed
            assert "returned the same result as in the evidence" in answer.content.decode()
            assert answer.context["form"].tool.name == evidence.then[0]
            assert answer.context["form"].arguments() == evidence.then[1], "the next call is filled in"


@pytest.mark.parametrize("posted", [{}, {"edge": "a~b"}, {"edge": "list_accounts~get_account", "parameter": "x"}])
def test_evidence_that_is_not_there_opens_nothing(
    posted: dict[str, str], project: Project, job: Job, bob: User, as_user: Callable[[User], Client]
) -> None:
    answer = as_user(bob).post(reverse("graph-open", args=project.path), posted, follow=True)
    assert "Evidence not found" in answer.content.decode()
    assert not LiveSession.objects.exists()


def test_an_edge_shows_its_evidence_beside_the_picture(get: Callable[..., Any]) -> None:
    panel = {"HX-Request": "true", "HX-Target": "aside#graph-panel"}
    text = get("graph", headers=panel, edge="list_accounts~get_account").content.decode()
    assert "Evidence for <code>account</code>: four runs" in text and "Open in session" not in text
    assert "<script>" not in get("graph", headers=panel, tool="<script>alert(1)</script>").content.decode()
