"""Live sessions: forms and calls, permissions, and nothing lost when two requests run at once."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from mcp_servers.catalogue import fingerprint
from mcp_servers.core import minute_text
from prove_web.accounts.models import Project, User
from prove_web.servers import session_services
from prove_web.servers.models import LiveSession, SessionCall
from prove_web.servers.world_cache import Cache, WorldDiffers, cache, moments

from .each_server import EACH_SERVER

pytestmark = pytest.mark.django_db
SCRIPT = "<script>alert(1)</script>"
People = Callable[[User], Client]


@pytest.fixture
def session(project: Project, bob: User) -> LiveSession:
    """Open a session with a calendar and a bank of seed 7."""
    servers = ["banking", "calendar"]
    return LiveSession.objects.create(
        project=project, servers=servers, seed=7, size="small", fingerprint=fingerprint(servers), created_by=bob
    )


@pytest.fixture
def browser(bob: User, as_user: People) -> Client:
    return as_user(bob)


def address(name: str, session: LiveSession) -> str:
    return reverse(name, args=[*session.project.path, session.pk])


def new_event(session: LiveSession, title: str = "dentist") -> dict[str, Any]:
    state = moments(session)[0].world.sessions["calendar"].state
    calendar = next(row.id for row in state.calendars if not row.read_only)
    start = minute_text(state.now.replace(year=state.now.year + 1))
    return {"calendar": calendar, "title": title, "start": start, "duration": 30}


def fields(arguments: dict[str, Any], tool: str = "create_event", **rest: str) -> dict[str, str]:
    return {"tool": tool, **{f"arg-{name}": str(value) for name, value in arguments.items()}, **rest}


def page(browser: Client, session: LiveSession, **query: Any) -> str:
    answer = browser.get(session.get_absolute_url(), query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_session_is_opened_by_seed_with_a_tool_chosen(browser: Client, project: Project) -> None:
    form = {"servers": ["email", "banking"], "seed": "42", "size": "small", "title": SCRIPT, "tool": "send_email"}
    answer = browser.post(reverse("session-new", args=project.path), form, follow=True)
    made = LiveSession.objects.get()
    assert (made.servers, made.seed, made.size, made.title) == (["banking", "email"], 42, "small", SCRIPT)
    text = answer.content.decode()
    assert SCRIPT not in text and "&lt;script&gt;" in text
    assert 'name="arg-subject"' in text


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("seed", "-1", "0 or more"),
        ("seed", "9" * 400, "at most"),
        ("seed", "seven", "whole number"),
        ("seed", "", "required"),
        ("servers", "no-such-server", "does not exist"),
        ("servers", [], "at least one server"),
        ("size", "gigantic", "not one of the available choices"),
        ("title", "x" * 81, "at most 80 characters"),
        ("title", "a\0b", "Null characters"),
    ],
)
def test_nonsense_gets_an_error_and_stays_as_typed(
    browser: Client, project: Project, field: str, value: Any, said: str
) -> None:
    form = {"servers": ["email"], "seed": "42", "size": "small", "title": "My own title"} | {field: value}
    answer = browser.post(reverse("session-new", args=project.path), form)
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert field == "title" or "My own title" in answer.content.decode()
    assert field == "seed" or 'value="42"' in answer.content.decode()
    assert not LiveSession.objects.exists()


def test_a_call_is_recorded_with_its_answer_and_shows_what_it_changed(browser: Client, session: LiveSession) -> None:
    given = new_event(session, SCRIPT)
    answer = browser.post(address("session-call", session), fields(given), follow=True)
    made = session.calls.get()
    assert (made.position, made.tool, made.arguments, made.ok) == (1, "create_event", given, True)
    text = answer.content.decode()
    assert "1 row changed" in text and json.loads(made.text)["id"] in text
    assert SCRIPT not in text


def test_a_refusal_changes_nothing_and_the_form_keeps_what_was_typed(browser: Client, session: LiveSession) -> None:
    typed = {**new_event(session), "duration": "half an hour"}
    answer = browser.post(address("session-call", session), fields(typed), follow=True)
    assert not session.calls.get().ok
    assert "must be an integer" in answer.content.decode()
    assert 'value="half an hour"' in answer.content.decode()
    assert moments(session)[1].world.digest() == moments(session)[0].world.digest()


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("{nope", "one JSON object"),
        ("", "one JSON object"),
        ("[1, 2]", "JSON object"),
        ('{"duration": NaN}', "finite"),
        ('{"duration": 1e999}', "finite"),
        ('{"a":' * 40 + "1" + "}" * 40, "levels deep"),
        ("[" * 100_000 + "]" * 100_000, "send less"),
        ("[" * 20_000 + "]" * 20_000, "JSON"),
        ('{"title": "' + "x" * 20_000 + '"}', "shorten it"),
        ('{"duration": ' + "9" * 5_000 + "}", ""),
        ('{"title": "\\u0000"}', "zero byte"),
        ('{"title": "\\ud800"}', "one JSON object"),
    ],
)
def test_what_no_tool_should_see_is_a_fault_of_the_form(
    browser: Client, session: LiveSession, raw: str, said: str
) -> None:
    answer = browser.post(address("session-call", session), {"tool": "create_event", "mode": "json", "raw": raw})
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert answer.context["form"].raw == raw
    assert not session.calls.exists()


def test_a_body_of_ten_megabytes_is_refused(browser: Client, session: LiveSession) -> None:
    raw = '{"title": "' + "x" * 10_000_000 + '"}'
    answer = browser.post(address("session-call", session), {"tool": "create_event", "mode": "json", "raw": raw})
    assert answer.status_code == 413
    assert not session.calls.exists()


@pytest.mark.parametrize("tool", ["", "no_such_tool", "send_email", "x" * 500, SCRIPT])
def test_a_tool_that_the_session_lacks_cannot_be_called(browser: Client, session: LiveSession, tool: str) -> None:
    answer = browser.post(address("session-call", session), {"tool": tool}, follow=True)
    assert "no such tool" in answer.content.decode()
    assert not session.calls.exists()


def test_wrong_types_are_answered_by_the_tool(browser: Client, session: LiveSession) -> None:
    raw = '{"calendar": {"a": [1]}, "title": null, "duration": true, "extra": 1}'
    browser.post(address("session-call", session), {"tool": "create_event", "mode": "json", "raw": raw})
    made = session.calls.get()
    assert not made.ok and "extra is not a parameter" in made.text
    assert 'id="raw"' in page(browser, session, tool="create_event", **{"from": 1})  # fields could not say it


def test_fields_and_json_say_the_same_to_and_fro(browser: Client, session: LiveSession) -> None:
    given = new_event(session, 'line "one"')
    answer = browser.post(address("session-call", session), fields(given, switch="json"))
    raw = answer.context["form"].raw
    assert json.loads(raw) == given
    back = browser.post(
        address("session-call", session), {"tool": "create_event", "mode": "json", "raw": raw, "switch": "form"}
    )
    assert back.context["form"].mode == "form"
    assert back.context["form"].values["title"] == 'line "one"'
    assert not session.calls.exists()


def test_a_destructive_tool_asks_first(browser: Client, session: LiveSession) -> None:
    made = session_services.make(session, session.created_by, "create_event", new_event(session))
    event = {"event": json.loads(made.text)["id"]}
    response = browser.post(address("session-call", session), fields(event, "cancel_event"))
    assert response.status_code == 200 and "no other call can undo it" in response.content.decode()
    assert f'value="{event["event"]}"' in response.content.decode()
    assert session.calls.count() == 1
    browser.post(address("session-call", session), fields(event, "cancel_event", confirmed="cancel_event"))
    assert session.calls.count() == 2


def test_the_state_after_any_call_can_be_looked_at(browser: Client, session: LiveSession) -> None:
    made = session_services.make(session, session.created_by, "create_event", new_event(session))
    event = json.loads(made.text)["id"]
    query = {"table": "calendar.events", "find": event}
    before, after = (browser.get(session.get_absolute_url(), {"at": at, **query}).context["rows"] for at in (0, 1))
    assert before == [] and [how for how, _ in after] == ["added"]
    for nonsense in ("-1", "99", "x", "9" * 500, "²"):
        assert browser.get(session.get_absolute_url(), {"at": nonsense}).context["at"] == 1


@pytest.mark.long
def test_nonsense_in_an_address_shows_the_page_all_the_same(browser: Client, session: LiveSession) -> None:
    for name in ("at", "table", "page", "find", "tool", "from", "calls", "mode", "find_tool"):
        for value in (SCRIPT, "\0", "-1", "9" * 100, "banking.", "x" * 5_000):
            assert SCRIPT not in page(browser, session, **{name: value})


def test_a_fork_has_the_calls_up_to_there_and_leaves_the_original_alone(
    browser: Client, session: LiveSession, alice: User
) -> None:
    for title in ("one", "two", "three"):
        session_services.make(session, alice, "create_event", new_event(session, title))
    browser.post(address("session-fork", session), {"at": "2"})
    twin = LiveSession.objects.exclude(pk=session.pk).get()
    copied = list(twin.calls.values_list("position", "tool", "text", "made_by"))
    assert copied == list(session.calls.filter(position__lte=2).values_list("position", "tool", "text", "made_by"))
    assert moments(twin)[2].world.digest() == moments(session)[2].world.digest()
    session_services.make(twin, alice, "list_events", {})
    assert (twin.calls.count(), session.calls.count()) == (3, 3)


def test_starting_again_opens_the_same_world_and_keeps_the_old_session(browser: Client, session: LiveSession) -> None:
    session_services.make(session, session.created_by, "create_event", new_event(session))
    answer = browser.post(address("session-reset", session), follow=True)
    twin = LiveSession.objects.exclude(pk=session.pk).get()
    assert twin.calls.count() == 0 and session.calls.count() == 1
    assert moments(twin)[0].world.digest() == moments(session)[0].world.digest()
    assert "is kept." in answer.content.decode()


def test_of_two_calls_at_once_the_second_sees_what_the_first_did(session: LiveSession, alice: User, bob: User) -> None:
    given, waiting = new_event(session), [bob]

    def bob_comes_first(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        found = execute(sql, params, many, context)
        if waiting and sql.startswith("SELECT") and "servers_sessioncall" in sql:  # Alice has read where it stands
            session_services.make(session, waiting.pop(), "create_event", given)
        return found

    with connection.execute_wrapper(bob_comes_first):
        made = session_services.make(session, alice, "create_event", given)
    assert list(session.calls.values_list("position", "made_by__username")) == [(1, "bob"), (2, "alice")]
    world = moments(session)[1].world.fork()
    assert world.call("create_event", given).text == made.text


def test_a_world_rebuilt_by_replay_is_the_world_that_was(session: LiveSession, alice: User) -> None:
    for title in ("one", "two"):
        session_services.make(session, alice, "create_event", new_event(session, title))
    session_services.make(session, alice, "create_event", {"title": 3})
    seen = [moment.world.digest() for moment in moments(session)]
    cache.entries.clear()
    assert [moment.world.digest() for moment in moments(session)] == seen
    assert all(moment.as_recorded for moment in moments(session))


def test_calling_changes_no_moment_that_another_request_holds(session: LiveSession, alice: User) -> None:
    held = moments(session)
    before = [moment.world.digest() for moment in held]
    session_services.make(session, alice, "create_event", new_event(session))
    assert [moment.world.digest() for moment in held] == before


def test_the_cache_keeps_the_sessions_used_last_and_never_goes_back(session: LiveSession, alice: User) -> None:
    session_services.make(session, alice, "list_accounts", {})
    small, known = Cache(1), moments(session)
    small.put(session, known)
    small.put(session, known[:1])
    assert small.get(session) == known
    small.put(session_services.reset(session, alice), known[:1])
    assert small.get(session) == ()


def test_a_session_of_other_code_is_replayed_and_says_where_it_differs(browser: Client, session: LiveSession) -> None:
    LiveSession.objects.filter(pk=session.pk).update(fingerprint="of other code")
    session_services.make(session, session.created_by, "list_accounts", {})
    assert "still return the recorded results" in page(browser, session)
    SessionCall.objects.create(session=session, position=2, tool="tool_of_old", arguments={}, ok=True, text="{}")
    text = page(browser, session)
    assert "call 2 returns a different result now" in text and "result differs now</span>" in text


def test_a_session_stored_from_another_world_keeps_its_calls_and_says_so(browser: Client, session: LiveSession) -> None:
    session_services.make(session, session.created_by, "list_accounts", {})
    session.refresh_from_db()
    assert session.opening == moments(session)[0].world.digest()
    LiveSession.objects.filter(pk=session.pk).update(opening="0" * 32)
    text = page(browser, session)
    assert "initial state of this seed has changed since the calls of this session were made" in text
    assert "list_accounts" in text and "Reset" in text
    browser.post(address("session-call", session), {"tool": "list_accounts"}, follow=True)
    browser.post(address("session-fork", session), {"at": "1"})
    assert session.calls.count() == 1 and "initial state of this seed has changed" in page(browser, session.forks.get())
    browser.post(address("session-reset", session))
    fresh = session.forks.get(parent_at=0)
    assert "initial state of this seed has changed" not in page(browser, fresh)
    assert session_services.make(fresh, session.created_by, "list_accounts", {}).ok


def test_a_process_with_another_world_calls_nothing_in_a_session_that_it_read_before(
    session: LiveSession, alice: User
) -> None:
    read_before = LiveSession.objects.get(pk=session.pk)
    LiveSession.objects.filter(pk=session.pk).update(opening="0" * 32)
    with pytest.raises(WorldDiffers):
        session_services.make(read_before, alice, "list_accounts", {})
    assert not session.calls.exists()


def test_a_session_whose_server_is_gone_keeps_its_calls(browser: Client, session: LiveSession) -> None:
    session_services.make(session, session.created_by, "list_accounts", {})
    LiveSession.objects.filter(pk=session.pk).update(servers=["banking", "a-server-of-old"])
    cache.entries.clear()
    text = page(browser, session)
    assert "No longer available: server a-server-of-old" in text and "list_accounts" in text
    for name, form in (
        ("session-call", {"tool": "list_accounts"}),
        ("session-fork", {"at": "1"}),
        ("session-reset", {}),
    ):
        assert browser.post(address(name, session), form, follow=True).status_code == 200
    assert session.calls.count() == 1


def test_a_viewer_looks_and_does_not_touch(session: LiveSession, victor: User, as_user: People) -> None:
    client = as_user(victor)
    assert 'name="arg-title"' not in page(client, session, tool="create_event")
    for name in ("session-call", "session-fork", "session-reset"):
        assert client.post(address(name, session), {"tool": "list_accounts"}).status_code == 403
    assert client.get(reverse("session-new", args=session.project.path)).status_code == 403
    assert LiveSession.objects.count() == 1 and not SessionCall.objects.exists()


def test_a_session_is_found_in_its_own_project_alone(session: LiveSession, charlie: User, as_user: People) -> None:
    theirs = Project.objects.get(organisation__slug="other")
    client = as_user(charlie)
    for name in ("session", "session-call", "session-fork", "session-reset"):
        for path in (theirs.path, session.project.path):
            send = client.get if name == "session" else client.post
            assert send(reverse(name, args=[*path, session.pk])).status_code == 404


def test_the_number_of_queries_does_not_grow_with_the_calls(
    browser: Client, session: LiveSession, django_assert_num_queries: Callable[[int], Any]
) -> None:
    session_services.make(session, session.created_by, "list_accounts", {})
    for _ in range(2):  # which pages were seen is written down once
        page(browser, session)
        browser.get(reverse("sessions", args=session.project.path))
    page_of_one = queries(lambda: page(browser, session))
    list_of_one = queries(lambda: browser.get(reverse("sessions", args=session.project.path)))
    for _ in range(30):
        session_services.make(session, session.created_by, "list_accounts", {})
        session_services.reset(session, session.created_by)
    with django_assert_num_queries(page_of_one):
        assert "Page 1 of 2" in page(browser, session)
    with django_assert_num_queries(list_of_one):
        browser.get(reverse("sessions", args=session.project.path))


def queries(work: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as found:
        work()
    return len(found)


@pytest.mark.parametrize("server", EACH_SERVER)
def test_every_tool_has_a_form_that_says_what_it_was_called_with(
    server: str, browser: Client, session: LiveSession
) -> None:
    LiveSession.objects.filter(pk=session.pk).update(servers=[server])
    session.refresh_from_db()
    cache.entries.clear()
    for name, tool in moments(session)[0].world.tools().items():
        text = page(browser, session, tool=name)
        assert all(
            f'name="arg-{parameter}"' in text or f'name="rows-{parameter}"' in text
            for parameter in tool.model.model_fields
        )
