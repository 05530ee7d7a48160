"""The pages that connect clients to a session and inject faults: a token appears once, a replay is exact."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from mcp_servers.catalogue import fingerprint
from mcp_servers.core import minute_text
from mcp_servers.faults import KINDS, Faults
from prove_web.accounts.models import Project, User
from prove_web.servers import session_services, tokens
from prove_web.servers.client_snippets import PLACE
from prove_web.servers.models import LiveSession, SessionCall, Source
from prove_web.servers.world_cache import cache, get_injected_faults, moments

pytestmark = pytest.mark.django_db
SCRIPT = "<script>alert(1)</script>"
People = Callable[[User], Client]
OFTEN = {"unavailable": 25, "rate_limited": 25, "stale": 25, "slow": 25, "delay": 300, "seed": 3}


@pytest.fixture
def session(project: Project, bob: User) -> LiveSession:
    servers = ["banking", "calendar"]
    return LiveSession.objects.create(
        project=project, servers=servers, seed=7, size="small", fingerprint=fingerprint(servers), created_by=bob
    )


@pytest.fixture
def browser(bob: User, as_user: People) -> Client:
    return as_user(bob)


def at(name: str, session: LiveSession, *rest: Any) -> str:
    return reverse(name, args=[*session.project.path, session.pk, *rest])


def new_event(session: LiveSession, title: str) -> dict[str, Any]:
    state = moments(session)[0].world.sessions["calendar"].state
    calendar = next(row.id for row in state.calendars if not row.read_only)
    start = minute_text(state.now.replace(year=state.now.year + 1))
    return {"calendar": calendar, "title": title, "start": start, "duration": 30}


def call_much(session: LiveSession, bob: User) -> None:
    for title in ("one", "two", "three", "four"):
        session_services.make(session, bob, "create_event", new_event(session, title))
        session_services.make(session, bob, "list_events", {})


def story(session: LiveSession) -> list[Any]:
    known = moments(session)
    return [
        (known[each.position].world.digest(), each.text, [one[1:] for one in get_injected_faults(known, each.position)])
        for each in session.calls.all()
    ]


def test_a_token_appears_once_with_all_that_it_takes(browser: Client, session: LiveSession) -> None:
    answer = browser.post(at("session-token", session), {"name": SCRIPT, "writes": "yes"})
    text = answer.context["text"]
    assert tokens.authenticate_session_token(text) == session.tokens.get()
    assert SCRIPT not in answer.text and "no-store" in answer["Cache-Control"]
    for each in answer.context["clients"]:
        assert f"/mcp/s/{text}/" in each.text and PLACE not in each.text
    again = browser.get(at("session-connect", session)).text
    assert text not in again and "&lt;token&gt;" in again and "last used" in again


@pytest.mark.parametrize("name", ["", " ", "x" * 81, "\0"])
def test_a_token_needs_a_name_and_says_so(browser: Client, session: LiveSession, name: str) -> None:
    answer = browser.post(at("session-token", session), {"name": name})
    assert answer.status_code == 422 and "Enter a name" in answer.text and not session.tokens.exists()


def test_a_token_reads_only_unless_it_may_call(browser: Client, session: LiveSession) -> None:
    browser.post(at("session-token", session), {"name": "Look", "writes": "no"})
    assert session.tokens.get().writes is False


def test_one_revokes_ones_own_token_and_a_maintainer_any(
    browser: Client, session: LiveSession, mary: User, as_user: People
) -> None:
    hers, _ = tokens.issue(session, mary, "Hers", True)
    browser.post(at("session-token-revoke", session, hers.pk))
    hers.refresh_from_db()
    assert hers.revoked_at is None
    mine, text = tokens.issue(session, session.created_by, "Mine", True)
    as_user(mary).post(at("session-token-revoke", session, mine.pk))
    assert tokens.authenticate_session_token(text) is None
    other = LiveSession.objects.create(project=session.project, servers=["email"], seed=1)
    assert browser.post(at("session-token-revoke", other, hers.pk)).status_code == 404


def test_a_session_opened_to_connect_to_leads_there(browser: Client, project: Project) -> None:
    form = {"servers": ["email"], "seed": "1", "size": "small", "connect": "1"}
    answer = browser.post(reverse("session-new", args=project.path), form)
    made = LiveSession.objects.get()
    assert answer.url == at("session-connect", made) and made.source == Source.MCP


def test_faults_begin_with_the_next_call_and_a_replay_meets_the_same(
    browser: Client, session: LiveSession, bob: User
) -> None:
    call_much(session, bob)
    browser.post(at("session-faults", session), OFTEN)
    call_much(session, bob)
    browser.post(at("session-faults", session), {"off": "1"})
    call_much(session, bob)
    browser.post(at("session-faults", session), OFTEN | {"seed": 4})
    call_much(session, bob)
    before = story(session)
    faulty = [bool(kinds) for _, _, kinds in before]
    assert not any(faulty[:8]) and any(faulty[8:16]) and not any(faulty[16:24]) and any(faulty[24:])
    cache.entries.clear()
    assert story(session) == before
    assert all(moment.as_recorded for moment in moments(session))


def test_a_fork_of_a_faulty_session_is_the_same_up_to_there_and_meets_on(session: LiveSession, bob: User) -> None:
    session_services.set_faults(session, Faults(**OFTEN))
    call_much(session, bob)
    twin = session_services.fork(session, bob, 5)
    assert story(twin) == story(session)[:5]
    assert twin.faults == session.faults
    for one in (session, twin):
        session_services.make(one, bob, "list_calendars", {})
    assert len(story(twin)) == 6


def test_calls_that_met_a_fault_are_marked_and_the_page_says_what_is_on(
    browser: Client, session: LiveSession, bob: User
) -> None:
    session_services.set_faults(session, Faults(unavailable=100))
    made = session_services.make(session, bob, "list_events", {})
    assert not made.ok and json.loads(made.text)["error"] == "unavailable"
    page = browser.get(session.get_absolute_url()).text
    assert "Fault injection is on" in page and page.count("tool-mark-fault") == page.count("unavailable<span") == 2, (
        "in the timeline and with the call"
    )
    answer = browser.post(at("session-call", session), {"tool": "list_events", "example": "1"})
    assert "tried in a fork" in answer.text, "an example is tried where nothing is broken on purpose"


@pytest.mark.parametrize(
    "wrong",
    [{"unavailable": "101"}, {"unavailable": "-1"}, {"slow": "x"}, {"delay": "60001"}, {"stale": "60", "slow": "60"},
     {"seed": "9" * 400}, {"seed": ""}],
)  # fmt: skip
def test_shares_that_are_none_are_refused_and_stay_as_typed(
    browser: Client, session: LiveSession, wrong: dict[str, str]
) -> None:
    form = {**dict.fromkeys(KINDS, "0"), "delay": "500", "seed": "7"} | wrong
    answer = browser.post(at("session-faults", session), form)
    assert answer.status_code == 422
    session.refresh_from_db()
    assert session.faults == ""
    assert "seed" in wrong or 'value="7"' in answer.text


def test_what_comes_in_live_leaves_forms_alone(browser: Client, session: LiveSession, bob: User) -> None:
    session_services.make(session, bob, "list_events", {})
    live = {"HX-Request": "true", "HX-Target": "calls"}
    text = browser.get(session.get_absolute_url(), headers=live).text
    assert 'id="calls"' in text and 'id="state-table"' in text and 'id="newest"' in text
    assert 'id="call-form"' not in text and 'id="find_tool"' not in text and 'id="find"' not in text
    for query, target in (({"tool": "list_events"}, "calls"), ({"at": "0"}, "calls"), ({}, "calls-quiet")):
        text = browser.get(session.get_absolute_url(), query, headers=live | {"HX-Target": target}).text
        assert 'id="calls"' in text and 'id="newest"' not in text


def test_a_call_of_a_client_says_whose_it_is(browser: Client, session: LiveSession, bob: User) -> None:
    session_services.make(session, bob, "list_events", {}, SCRIPT)
    page = browser.get(session.get_absolute_url(), {"view": "timing"}).text
    assert SCRIPT not in page and "&lt;script&gt;" in page and "(MCP client)" in page
    assert SessionCall.objects.get().made_by == bob
