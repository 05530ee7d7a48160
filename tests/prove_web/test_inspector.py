"""The inspector of calls: saving them, comparing them, exporting them as code, and making trajectories of them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from django.test import Client
from django.urls import reverse

from mcp_servers.catalogue import fingerprint
from mcp_servers.core import minute_text
from mcp_servers.mcp.gateway import Gateway, Options
from prove_web.accounts.models import Project, User
from prove_web.experiments.models import Run
from prove_web.live.models import Job, Kind
from prove_web.servers import session_services, wire_format
from prove_web.servers.models import LiveSession, SavedCall, SessionCall, Source
from prove_web.servers.session_tree import family
from prove_web.servers.world_cache import cache, moments
from prove_web.trajectories.models import Dataset, Trajectory
from prove_web.trajectories.replay_score import example_of, judge
from tests.waiting import eventually
from training_worker.core.trajectory import Example
from training_worker.datasets.dataset_folder import list_changed_files, read
from training_worker.synthesis.validate import validate

pytestmark = pytest.mark.django_db
SCRIPT = "<script>alert(1)</script>"
PANES = {"HX-Request": "true", "HX-Target": "div#panes"}
People = Callable[[User], Client]


@pytest.fixture
def session(project: Project, bob: User) -> LiveSession:
    servers = ["banking", "calendar"]
    return LiveSession.objects.create(
        project=project, servers=servers, seed=7, size="small", fingerprint=fingerprint(servers), created_by=bob
    )


@pytest.fixture
def browser(bob: User, as_user: People) -> Client:
    return as_user(bob)


def address(name: str, session: LiveSession) -> str:
    return reverse(name, args=[*session.project.path, session.pk])


def calendar_of(session: LiveSession) -> str:
    return str(
        next(row.id for row in moments(session)[0].world.sessions["calendar"].state.calendars if not row.read_only)
    )


def make(session: LiveSession, tool: str, **arguments: Any) -> SessionCall:
    return session_services.make(session, session.created_by, tool, arguments)


def new_event(session: LiveSession, title: str = "dentist") -> SessionCall:
    now = moments(session)[0].world.now
    start = minute_text(now.replace(year=now.year + 1))
    return make(session, "create_event", calendar=calendar_of(session), title=title, start=start, duration=30)


def post(browser: Client, page: str, session: LiveSession, **form: Any) -> Any:
    return browser.post(address(page, session), form, follow=True)


def panes(browser: Client, session: LiveSession, **form: Any) -> Any:
    return browser.post(address("session-call", session), form, headers=PANES)


# Responses to a page with a script


def test_a_call_answers_with_the_panes_alone_and_pushes_the_address_of_their_page(
    browser: Client, session: LiveSession
) -> None:
    answer = panes(browser, session, tool="list_calendars")
    assert answer.status_code == 200 and answer.content.lstrip().startswith(b'<div class="panes"')
    assert answer.headers["HX-Push-Url"] == f"{session.get_absolute_url()}?tool=list_calendars&from=1"
    page = browser.get(answer.headers["HX-Push-Url"]).content
    assert pane(answer.content, "result") == pane(page, "result")
    assert pane(answer.content, "state") == pane(page, "state")


def pane(html: bytes, name: str) -> str:
    found = re.search(rf'id="{name}".*?</(?:article|section)>', html.decode(), re.DOTALL)
    assert found
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", found[0])


def test_a_wrong_call_has_its_faults_beside_the_fields_and_keeps_what_was_typed(
    browser: Client, session: LiveSession
) -> None:
    answer = panes(browser, session, tool="create_event", **{"arg-duration": "half an hour", "arg-title": "x"})
    form = answer.context["form"]
    assert form.errors["duration"] == "It must be an integer."
    assert form.errors["start"] == "It is required."
    assert form.values["duration"] == "half an hour"
    assert 'id="arg-duration-error">It must be an integer.' in answer.content.decode()


def test_what_the_server_says_of_one_value_stands_beside_its_field(browser: Client, session: LiveSession) -> None:
    answer = panes(browser, session, tool="cancel_event", confirmed="cancel_event", **{"arg-event": "EVT-0000"})
    assert "EVT-0000" in answer.context["form"].errors["event"]


def test_an_example_is_filled_in_and_called_as_it_stands_does_what_it_says(
    browser: Client, session: LiveSession
) -> None:
    first = panes(browser, session, tool="create_event", example="1").context["form"]
    again = panes(browser, session, tool="create_event", example="1").context["form"]
    other = panes(browser, session, tool="create_event", example="1", examples="1").context["form"]
    assert "tried in a fork" in first.note and not session.calls.exists()
    assert first.values == again.values != other.values
    sent = {f"arg-{name}": value for name, value in first.values.items()}
    assert panes(browser, session, tool="create_event", **sent).context["call"].ok


def test_where_a_world_has_nothing_for_an_example_the_form_says_what_to_call_first(
    browser: Client, session: LiveSession
) -> None:
    LiveSession.objects.filter(pk=session.pk).update(servers=["video_meeting"])
    form = panes(browser, session, tool="get_meeting_recording", example="1").context["form"]
    assert "No example available" in form.error and "Call " in form.error


def test_rows_of_a_list_are_added_and_removed_without_any_script(browser: Client, session: LiveSession) -> None:
    LiveSession.objects.filter(pk=session.pk).update(servers=["maps"])
    url, form = address("session-call", session), {"tool": "get_distance_matrix"}
    for count in (1, 2):
        page = browser.post(url, {**form, "add": "origins"}).content.decode()
        assert f'name="rows-origins" value="{count}"' in page
        form |= {"rows-origins": str(count), f"arg-origins/{count - 1}": f"PLC-{count}"}
    page = browser.post(url, {**form, "remove": "origins/0"}).content.decode()
    assert 'name="rows-origins" value="1"' in page and 'value="PLC-2"' in page and 'value="PLC-1"' not in page
    browser.post(url, form)
    assert session.calls.get().arguments["origins"] == ["PLC-1", "PLC-2"]


@pytest.mark.parametrize("nonsense", ["origins/99", "origins/x", "nothing/0", "/", "#", "x" * 500])
def test_nonsense_in_a_button_leaves_the_form_as_it_is(browser: Client, session: LiveSession, nonsense: str) -> None:
    LiveSession.objects.filter(pk=session.pk).update(servers=["maps"])
    form = {"tool": "get_distance_matrix", "rows-origins": "1", "arg-origins/0": "PLC-1"}
    answer = browser.post(address("session-call", session), {**form, "remove": nonsense})
    assert answer.status_code == 200 and 'value="PLC-1"' in answer.content.decode()


def test_entities_are_found_by_what_they_are_called(browser: Client, session: LiveSession) -> None:
    url = address("session-pick", session)
    everything = browser.get(url, {"type": "AccountId"}).context
    account = moments(session)[0].world.sessions["banking"].state.accounts
    assert [one.id for one in everything["entities"]] == [row.id for row in account]
    row = next(iter(account))
    found = browser.get(url, {"type": "AccountId", "q": row.kind})
    assert row.id in {one.id for one in found.context["entities"]}
    assert all(row.kind in one.label for one in found.context["entities"])
    assert browser.get(url, {"type": "NoSuchId", "q": SCRIPT}).content.decode().count(SCRIPT) == 0


def test_of_a_thousand_entities_some_are_listed_and_the_rest_is_found_by_its_words(
    browser: Client, session: LiveSession
) -> None:
    LiveSession.objects.filter(pk=session.pk).update(servers=["shopping"], size="large")
    session.refresh_from_db()
    rows = list(moments(session)[0].world.sessions["shopping"].state.products)
    assert len(rows) > 200
    url, kind = address("session-pick", session), "ShopProductId"
    some = browser.get(url, {"type": kind}).context
    assert len(some["entities"]) < some["count"] == len(rows)
    assert browser.get(url, {"type": kind, "q": rows[-1].id}).context["entities"][0].id == rows[-1].id


# The views of a result


def test_a_result_is_rendered_as_structure_text_changes_messages_times_and_code(
    browser: Client, session: LiveSession
) -> None:
    made = new_event(session, SCRIPT)
    assert made.took_us is not None
    said = {
        "structure": "tree-key",
        "text": "as a model reads it",
        "diff": "Added",
        "rpc": "tools/call",
        "timing": "server time",
        "code": "from mcp import Client",
        "nonsense": "tree-key",
    }
    for way, words in said.items():
        page = browser.get(session.get_absolute_url(), {"at": 1, "view": way}).content.decode()
        assert words in page and SCRIPT not in page


@pytest.fixture
def gateway() -> Iterator[str]:
    """Run a real gateway on the world of seed 7 and yield its URL."""
    server = uvicorn.Server(uvicorn.Config(Gateway(Options(seed=7, size="small")).app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    eventually(lambda: server.started, every=0.02)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


def run(command: list[str], gateway: str) -> str:
    if command[0] == "sh" and shutil.which("curl") is None:
        pytest.skip("curl is not installed here")
    known = {"PROVE_GATEWAY": gateway, "PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
    done = subprocess.run(command, env=known, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_the_python_and_the_curl_of_a_call_are_answered_by_a_gateway_as_it_was_here(
    session: LiveSession, gateway: str
) -> None:
    session.title = 'Mine"""\nimport nothing_of_the_kind'
    event = json.loads(new_event(session, "it's \"one\" $HOME 'x'").text)["id"]
    make(session, "list_accounts")
    make(session, "get_event", event="EVT-0000")
    seen = make(session, "get_event", event=event)
    writes = wire_format.writes_before(session, seen.position)
    assert [one.tool for one in writes] == ["create_event"]
    assert run([sys.executable, "-c", wire_format.python(seen, writes)], gateway).strip() == seen.text
    answered = json.loads(run(["sh", "-c", wire_format.curl(seen, writes)], gateway))
    assert answered == wire_format.response(seen)
    assert answered["result"]["content"][0]["text"] == seen.text


def test_the_displayed_messages_are_those_on_the_wire_for_a_refusal_too(session: LiveSession, gateway: str) -> None:
    refused = make(session, "list_accounts", limit="x")
    assert json.loads(run(["sh", "-c", wire_format.curl(refused, [])], gateway)) == wire_format.response(refused)


# Saved calls


def test_a_saved_call_is_the_team_s_in_all_its_projects_and_runs_as_it_was(
    browser: Client, session: LiveSession, mary: User, as_user: People
) -> None:
    made = new_event(session)
    post(browser, "call-save", session, position=1, name="  The   dentist ")
    saved = SavedCall.objects.get()
    assert (saved.name, saved.arguments, str(saved.made_by)) == ("The dentist", made.arguments, "bob")
    other = Project.objects.create(organisation=session.project.organisation, slug="second", name="Second")
    client = as_user(mary)
    assert "The dentist" in client.get(reverse("tool", args=[*other.path, "create_event"])).content.decode()
    form = {"servers": ["calendar"], "seed": "7", "size": "small", "tool": "create_event", "saved": saved.pk}
    opened = client.post(reverse("session-new", args=other.path), form, follow=True)
    assert opened.context["form"].values["title"] == "dentist"


@pytest.mark.parametrize("name", ["", " ", "x" * 81, "a\0b"])
def test_a_saved_call_needs_a_name_that_fits(browser: Client, session: LiveSession, name: str) -> None:
    new_event(session)
    answer = post(browser, "call-save", session, position=1, name=name)
    assert "1 to 80 characters" in answer.content.decode() and not SavedCall.objects.exists()


def test_saved_calls_are_renamed_and_removed_and_two_of_a_tool_never_share_a_name(
    browser: Client, session: LiveSession
) -> None:
    new_event(session)
    for name in ("one", "two", "two"):
        answer = post(browser, "call-save", session, position=1, name=name)
    assert "already" in answer.content.decode() and SavedCall.objects.count() == 2
    two = SavedCall.objects.get(name="two")
    url = reverse("saved-call", args=[*session.project.path, two.pk])
    assert "already" in browser.post(url, {"name": "one"}, follow=True).content.decode()
    browser.post(url, {"name": "three", "next": session.get_absolute_url()})
    assert sorted(SavedCall.objects.values_list("name", flat=True)) == ["one", "three"]
    assert browser.post(url, {"remove": "1", "next": "https://elsewhere.example/"}).url.startswith("/acme/demo/tools/")
    assert SavedCall.objects.get().name == "one"


def test_a_saved_call_of_another_team_is_not_found(session: LiveSession, charlie: User, as_user: People) -> None:
    saved = SavedCall.objects.create(
        organisation=session.project.organisation, name="x", tool="get_event", arguments={}
    )
    theirs = Project.objects.get(organisation__slug="other")
    url = reverse("saved-call", args=[*theirs.path, saved.pk])
    assert as_user(charlie).post(url, {"remove": "1"}).status_code == 404
    assert SavedCall.objects.exists()


# Forks, comparisons, the list


def test_the_tree_of_forks_survives_the_removal_of_any_session_in_it(session: LiveSession, bob: User) -> None:
    for _ in range(3):
        make(session, "list_accounts")
    child = session_services.fork(session, bob, 2)
    grandchild = session_services.fork(child, bob, 2)
    fresh = session_services.reset(session, bob)
    drawn = [(one.session, one.depth) for one in family(grandchild)]
    assert drawn == [(session, 0), (fresh, 1), (child, 1), (grandchild, 2)]
    session_services.remove(child)
    grandchild.refresh_from_db()
    assert (grandchild.parent, grandchild.parent_at, grandchild.source) == (session, 2, Source.FORK)
    session_services.remove(session)
    grandchild.refresh_from_db()
    assert (grandchild.parent, family(grandchild)[0].session) == (None, grandchild)
    assert grandchild.calls.count() == 2


def test_two_moments_differ_in_exactly_the_rows_that_the_calls_between_them_changed(
    browser: Client, session: LiveSession
) -> None:
    make(session, "list_accounts")
    event = json.loads(new_event(session).text)["id"]
    twin = session_services.fork(session, session.created_by, 1)
    other = json.loads(new_event(twin, "haircut").text)["id"]
    url = reverse("session-compare", args=session.project.path)
    found = browser.get(url, {"a": f"{session.pk}:1", "b": f"{session.pk}:2"}).context["found"]
    [(name, rows, count)] = found["tables"]
    assert (name, [(row.id, row.how) for row in rows], count) == ("calendar.events", [(event, "added")], 1)
    found = browser.get(url, {"a": session.pk, "b": twin.pk}).context["found"]
    assert [call.tool for call in found["common"]] == ["list_accounts"]
    assert [[call.arguments["title"] for call in made] for _, made in found["apart"]] == [["dentist"], ["haircut"]]
    rows = {row.id: row.how for _, rows, _ in found["tables"] for row in rows}
    assert rows == {event: "removed", other: "added"}
    assert browser.get(url, {"a": f"{session.pk}:1", "b": f"{twin.pk}:1"}).context["found"]["same"]


def test_worlds_of_other_seeds_are_compared_row_by_row(browser: Client, session: LiveSession) -> None:
    far = LiveSession.objects.create(project=session.project, servers=["banking"], seed=8, size="small")
    url = reverse("session-compare", args=session.project.path)
    answer = browser.get(url, {"a": session.pk, "b": far.pk})
    assert answer.context["found"]["other_world"] and answer.context["found"]["only"] == ["calendar"]
    assert "different seeds or sizes" in answer.content.decode()


@pytest.mark.parametrize("word", ["", "0", "-1", "x", "9" * 400, SCRIPT, "1:x", "\0"])
def test_nonsense_to_compare_breaks_nothing(browser: Client, session: LiveSession, word: str) -> None:
    answer = browser.get(reverse("session-compare", args=session.project.path), {"a": word, "b": session.pk})
    assert answer.status_code == 200 and SCRIPT not in answer.content.decode()


def test_sessions_are_found_sorted_and_filtered_by_source(browser: Client, session: LiveSession, alice: User) -> None:
    make(session, "list_accounts")
    twin = session_services.fork(session, alice, 1)
    make(twin, "list_accounts")
    LiveSession.objects.create(project=session.project, servers=["email"], seed=42, created_by=alice, title="Letters")
    url = reverse("sessions", args=session.project.path)

    def titles(**query: str) -> list[str]:
        return [str(one) for one in browser.get(url, query).context["page"]]

    assert titles(q="letters") == titles(q="email") == titles(q="42") == ["Letters"]
    assert titles(source="fork") == [str(twin)]
    assert [made.made for made in browser.get(url, {"sort": "-calls"}).context["page"]] == [2, 1, 0]
    assert titles(q="bob") == [str(session)]
    assert len(titles(sort="nonsense", source="nonsense", page="x")) == 3
    assert "No sessions found" in browser.get(url, {"q": "nothing of the kind"}).content.decode()


def test_one_removes_one_s_own_sessions_and_a_maintainer_anyone_s(
    browser: Client, session: LiveSession, alice: User, mary: User, as_user: People
) -> None:
    others = session_services.fork(session, alice, 0)
    assert "Deleting sessions of" in post(browser, "session-remove", others, confirmed=others.pk).content.decode()
    post(browser, "session-remove", session)
    assert LiveSession.objects.count() == 2, "it has to be confirmed"
    post(browser, "session-remove", session, confirmed=session.pk)
    assert list(LiveSession.objects.all()) == [others]
    post(as_user(mary), "session-remove", others, confirmed=others.pk)
    assert not LiveSession.objects.exists()


def test_the_rows_of_a_table_are_sorted_by_any_column_both_ways(browser: Client, session: LiveSession) -> None:
    def balances(order: str) -> list[int]:
        query = {"table": "banking.accounts", "sort": order}
        context = browser.get(session.get_absolute_url(), query).context
        at = context["table"].columns.index("balance")
        return [int(cells[at]) for _, cells in context["rows"]]

    up = balances("balance")
    assert up == sorted(up) and balances("-balance") == up[::-1] and sorted(balances("nonsense")) == up
    assert len(up) > 2


# Trajectories by hand


@pytest.fixture
def answered(session: LiveSession, settings: Any, tmp_path: Path) -> LiveSession:
    """Look up calendars, make a call that is refused, and create an event in one of the calendars."""
    settings.PROVE_DATA = tmp_path
    make(session, "list_calendars")
    make(session, "get_event", event="EVT-0000")
    new_event(session)
    return session


def ask(session: LiveSession, *left_out: int, **said: str) -> dict[str, str]:
    used = {f"use-{each.position}": "1" for each in session.calls.filter(ok=True) if each.position not in left_out}
    return {**used, **{name.replace("_", "-"): text for name, text in said.items()}}


def request_for(session: LiveSession) -> str:
    made = session.calls.get(tool="create_event").arguments
    return f"Put dentist into my calendar for 30 minutes, starting {made['start']}."


def test_calls_by_hand_become_a_scored_example_that_replays(browser: Client, answered: LiveSession) -> None:
    form = ask(answered, say_1="Which calendars do I have?", say_3=request_for(answered))
    answer = post(browser, "session-trajectory", answered, **form)
    assert "score 1.30 of 1.30" in answer.content.decode()
    trajectory = Trajectory.objects.get()
    example = example_of(trajectory)
    validate(example)
    assert judge(example).problem == "" and len(example.turns) == 2
    assert [step.calls[0].name for step in example.steps] == ["list_calendars", "create_event"]
    assert example.edges == ((0, 1),) and {"list_calendars", "create_event"} <= {*example.candidates}
    out = trajectory.dataset.job.out
    assert list_changed_files(out, read(out)) == [] and read(out).splits["train"].conversations == 1


@pytest.mark.parametrize(
    ("left_out", "said", "why"),
    [
        ((), {}, "The first call"),
        ((1, 3), {"say_1": "Hello."}, "No call is selected"),
        ((), {"say_1": "Put something into my calendar."}, "that nobody gave"),
        ((1,), {"say_1": "Put dentist", "say_3": "there."}, "that nobody gave"),
    ],
)
def test_what_does_not_hold_is_refused_with_the_reason_and_stays_as_typed(
    browser: Client, answered: LiveSession, left_out: tuple[int, ...], said: dict[str, str], why: str
) -> None:
    url = address("session-trajectory", answered)
    answer = browser.post(url, ask(answered, *left_out, **said))
    assert answer.status_code == 422 and why in answer.content.decode()
    assert all(text in answer.content.decode() for text in said.values())
    assert len(answer.context["rows"]) == 3
    assert not Trajectory.objects.exists() and not Dataset.objects.exists()


def test_a_call_that_rests_on_one_left_out_is_refused(browser: Client, answered: LiveSession) -> None:
    event = json.loads(answered.calls.get(tool="create_event").text)["id"]
    make(answered, "get_event", event=event)
    form = ask(answered, 1, 3, say_4=f"Show me {event}.")
    answer = browser.post(address("session-trajectory", answered), form)
    assert answer.status_code == 422 and "In a fresh world, get_event" in answer.content.decode()


def test_a_session_whose_servers_answer_otherwise_now_gives_no_trajectory(
    browser: Client, answered: LiveSession
) -> None:
    answered.calls.filter(position=1).update(text="[]")
    cache.entries.clear()
    form = ask(answered, 3, say_1="Which calendars do I have?")
    answer = browser.post(address("session-trajectory", answered), form)
    assert answer.status_code == 422 and "has a different result than in the session" in answer.content.decode()


def test_the_data_set_grows_until_something_is_made_with_it_and_then_has_a_next_version(
    browser: Client, answered: LiveSession, bob: User
) -> None:
    form = ask(answered, 3, say_1="Which calendars do I have?")
    for _ in range(2):
        post(browser, "session-trajectory", answered, **form)
    [first] = Dataset.objects.all()
    before = read(first.job.out).content
    job = Job.objects.create(project=first.project, kind=Kind.RUN, title="Run", created_by=bob)
    Run.objects.create(project=first.project, number=1, name="Run", dataset=first, job=job, config={})
    post(browser, "session-trajectory", answered, **form)
    second = Dataset.objects.exclude(pk=first.pk).get()
    assert (first.trajectories.count(), second.trajectories.count()) == (2, 3)
    assert read(first.job.out).content == before and "version 2" in second.name
    page = browser.get(first.get_absolute_url())
    assert page.status_code == 200 and example_of(first.trajectories.first()) == example_of(second.trajectories.first())


def test_a_stored_trajectory_is_the_one_in_the_files_of_its_data_set(browser: Client, answered: LiveSession) -> None:
    post(browser, "session-trajectory", answered, **ask(answered, 3, say_1="Which calendars do I have?"))
    [line] = (Dataset.objects.get().job.out / "train.jsonl").read_text().splitlines()
    assert Example(**{**vars(example_of(Trajectory.objects.get()))}).id == json.loads(line)["id"] == "hand-000001"
