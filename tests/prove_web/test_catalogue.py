"""The pages of servers, tools and the graph: what a search finds, what links where, and escaping."""

import html
import json
import re
from collections.abc import Callable
from typing import Any

import networkx as nx
import pytest
from django.test import Client
from django.urls import reverse

from mcp_servers.catalogue import SERVERS, TOOLS, fingerprint
from prove_web.accounts.models import Project, User
from prove_web.environments.models import Environment
from prove_web.live.models import Job, Kind, State
from prove_web.servers.catalogue import MARKS, card, entries, search
from prove_web.servers.parameters import parameters

from .each_server import EACH_SERVER

pytestmark = pytest.mark.django_db

Run = dict[str, Any]


BEFORE, AFTER = "0123456789abcdef" * 2, "fedcba9876543210" * 2


@pytest.fixture
def page(project: Project, victor: User, as_user: Callable[[User], Client]) -> Callable[..., Any]:
    """Return a function that gets a page of the project as a viewer."""
    client = as_user(victor)

    def get(name: str, *rest: object, headers: Any = None, **query: str) -> Any:
        return client.get(reverse(name, args=[*project.path, *rest]), query, headers=headers)

    return get


def run(ok: bool, text: str = "{}") -> Run:
    digests = {"before": BEFORE, "after": AFTER if ok else BEFORE}
    return {"arguments": {"id": "<script>alert(1)</script>"}, "ok": ok, "text": text, **digests}


@pytest.fixture
def proven(project: Project) -> Job:
    """A finished graph job with one edge, as the worker writes it."""
    found = nx.DiGraph(fingerprint=fingerprint(tuple(SERVERS)), unproven=[["list_cards", "freeze_card", "card"]])
    for name, (server, tool) in TOOLS.items():
        found.add_node(name, server=server.name, writes=tool.writes)
    proof = {
        "seed": 9,
        "producer": run(True),
        "with_output": run(True),
        "with_foreign": run(False),
        "without": run(False),
        "created": True,
    }
    found.add_edge(
        "create_event",
        "get_event",
        kind="explicit",
        id_type="EventId",
        created=True,
        feeds={"event": proof},
        shows={},
        enables=None,
    )
    seat = {"kind": "explicit", "id_type": "", "created": False, "feeds": {}, "shows": {"seat": proof}, "enables": None}
    found.add_edge("list_free_seats", "choose_flight_seat", **seat)
    enabling = {
        "seed": 9,
        "earlier": [["set_vehicle_lock", {"to": "unlocked"}]],
        "refused": run(False),
        "producer": run(True),
        "enabled": run(True),
        "shares": {},
    }
    found.add_edge("start_engine", "shift_gear", kind="implicit", id_type="", created=False, feeds={}, enables=enabling)
    job = Job.objects.create(project=project, kind=Kind.GRAPH, title="Dependency graph", state=State.DONE)
    job.out.mkdir(parents=True)
    (job.out / "graph.json").write_text(json.dumps(nx.node_link_data(found, edges="edges")), "utf-8")
    return job


def test_every_server_has_a_card_and_a_page_with_all_of_its_tools(page: Callable[..., Any]) -> None:
    cards = html.unescape(page("servers").content.decode())
    for name, server in SERVERS.items():
        assert server.description in cards
        own = page("server", name).content.decode()
        assert all(f">{tool}<" in own for tool in server.tools)
    assert page("server", "no-such-server").status_code == 404


@pytest.mark.parametrize("server", EACH_SERVER)
def test_every_tool_has_a_page_with_all_of_its_parameters(server: str, page: Callable[..., Any]) -> None:
    for name, tool in SERVERS[server].tools.items():
        text = page("tool", name).content.decode()
        assert all(f"<code>{parameter}</code>" in text for parameter in tool.model.model_fields)
    assert page("tool", "no_such_tool").status_code == 404


def test_a_tool_links_to_what_feeds_it_and_to_what_it_feeds(page: Callable[..., Any], project: Project) -> None:
    text = page("tool", "create_event").content.decode()
    for other in ("list_calendars", "reschedule_event"):
        assert reverse("tool", args=[*project.path, other]) in text


def test_a_search_finds_every_word_in_names_descriptions_servers_parameters_and_id_types() -> None:
    assert [each.name for each in search("PAYEE add")] == ["add_payee"]
    assert "create_event" in {each.name for each in search("calendarid")}
    assert "list_calendars" in {each.name for each in search("calendarid")}
    assert search("payee banking nonsense") == []


def test_marks_divide_the_tools_without_rest() -> None:
    found = [each.name for kind in MARKS for each in search(kind=kind)]
    assert sorted(found) == sorted(entries())


def test_the_address_holds_the_search_and_typing_gets_the_list_alone(page: Callable[..., Any]) -> None:
    query = {"q": "event", "kind": "destructive", "server": "calendar"}
    full, part = page("tools", **query), page("tools", **query, headers={"HX-Request": "true"})
    assert part.content.decode().strip() in full.content.decode()
    assert "<html" not in part.content.decode()
    assert "cancel_event" in part.content.decode() and "create_event" not in part.content.decode()
    assert "HX-Request" in full["Vary"]


@pytest.mark.parametrize("query", ["<script>alert(1)</script>", "\0", "x" * 10_000, "%", "\ud7ff"])
def test_a_search_for_nonsense_finds_nothing_and_is_escaped(page: Callable[..., Any], query: str) -> None:
    answer = page("tools", q=query, kind="nonsense", server="nonsense")
    assert answer.status_code == 200
    assert "<script>alert" not in answer.content.decode()


def test_the_pages_of_the_catalogue_ask_the_database_little(
    page: Callable[..., Any], django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    for name, rest, most in (
        ("servers", (), 7),
        ("server", ("banking",), 7),
        ("tools", (), 8),
        ("tool", ("create_event",), 9),
    ):
        page(name, *rest)  # the first visit of a page is recorded
        with django_assert_max_num_queries(most):
            page(name, *rest)


def test_parameters_say_how_they_are_filled_in() -> None:
    known = {each.name: each for each in parameters(TOOLS["create_event"][1])}
    assert (known["duration"].kind, known["duration"].limits) == ("integer", ("at least 5", "at most 480"))
    assert (known["start"].kind, known["start"].examples) == ("text", ("2026-03-05T10:00:00Z",))
    assert known["calendar"].required and known["calendar"].id_type == "CalendarId"
    assert not known["location"].required
    status = next(each for each in parameters(TOOLS["list_messages"][1]) if each.name == "status")
    assert (status.kind, status.options) == ("choice", ("unread", "read"))


def test_without_a_graph_the_page_tells_what_to_do(page: Callable[..., Any]) -> None:
    assert "No dependency graph yet" in page("graph").content.decode()


def test_the_graph_shows_each_edge_with_the_runs_that_prove_it(page: Callable[..., Any], proven: Job) -> None:
    text = page("graph", q="EventId", server="calendar", kind="created").content.decode()
    assert "1 of 3 edges" in text
    assert "four runs with seed 9" in text
    assert "<script>alert" not in text
    assert "1 unverified pair with matching types" in text
    assert "No edges found" in page("graph", kind="crosses").content.decode()


def test_each_run_tells_the_digest_of_the_world_before_and_after_it(page: Callable[..., Any], proven: Job) -> None:
    text = page("graph", q="EventId").content.decode()
    assert text.count(f'"{BEFORE}"') == 4 and text.count(f'"{AFTER}"') == 2 and text.count("unchanged") == 2


def test_an_edge_of_a_plain_value_tells_what_takes_it(page: Callable[..., Any], proven: Job) -> None:
    text = page("graph", kind="plain").content.decode()
    assert "1 of 3 edges" in text and "list_free_seats" in text
    assert "Evidence for <code>seat</code>: four runs" in text


def test_an_implicit_edge_shows_the_runs_that_make_it_one(page: Callable[..., Any], proven: Job) -> None:
    text = html.unescape(page("graph", kind="implicit").content.decode())
    assert "1 of 3 edges" in text and "start_engine" in text and "create_event" not in text
    assert "three runs with seed 9, after 1 earlier write" in text and "set_vehicle_lock" in text


def test_the_graph_leaves_out_what_is_switched_off(page: Callable[..., Any], proven: Job, project: Project) -> None:
    assert "3 edges" in page("graph").content.decode()
    Environment.objects.create(project=project, off=["calendar"])
    text = page("graph").content.decode()
    assert "create_event" not in text and "start_engine" in text and "2 edges" in text
    drawn = json.loads(page("graph-data").content)
    assert "calendar" not in {name for name, *_ in drawn["servers"]} and len(drawn["servers"]) == 19
    assert drawn["total"] == 2 and "create_event" not in {name for name, *_ in drawn["tools"]}


def test_a_torn_graph_is_said_to_be_torn(page: Callable[..., Any], proven: Job) -> None:
    (proven.out / "graph.json").write_text('{"nodes": [', "utf-8")
    assert "missing or damaged" in page("graph").content.decode()


def test_a_page_that_waits_for_the_graph_gets_the_progress_and_then_the_graph(
    client: Client, mary: User, project: Project
) -> None:
    client.force_login(mary)
    job = Job.objects.create(project=project, kind=Kind.GRAPH, title="Dependency graph", state=State.RUNNING)
    full = client.get(reverse("graph", args=project.path)).content.decode()
    (part,) = re.findall(r'hx-get="([^"]*)" hx-trigger="live"', full)
    waiting = client.get(part, headers={"HX-Request": "true"})
    assert 'id="graph-job"' in waiting.content.decode() and "HX-Refresh" not in waiting
    Job.objects.filter(pk=job.pk).update(state=State.DONE)
    assert client.get(part, headers={"HX-Request": "true"})["HX-Refresh"] == "true"


def test_a_graph_of_another_project_is_not_visible(page: Callable[..., Any], proven: Job, charlie: User) -> None:
    Job.objects.filter(pk=proven.pk).update(project=Project.objects.get(organisation__slug="other"))
    assert "No dependency graph yet" in page("graph").content.decode()


def test_the_graph_is_proven_by_one_job_at_a_time(
    project: Project, mary: User, victor: User, as_user: Callable[[User], Client]
) -> None:
    address = reverse("graph-prove", args=project.path)
    assert as_user(victor).post(address).status_code == 403
    for _ in range(2):
        assert as_user(mary).post(address).status_code == 302
    assert Job.objects.filter(project=project, kind=Kind.GRAPH).count() == 1


@pytest.mark.parametrize("name", SERVERS)
def test_the_page_of_a_server_tells_its_policy_and_what_is_always_true(name: str, page: Callable[..., Any]) -> None:
    text = html.unescape(page("server", name).text)
    rules, laws = card(name).rules, card(name).laws
    assert len(rules) >= 5 and len(laws) >= 4
    assert all(f">{line}</li>" in text for line in (*rules, *laws))
