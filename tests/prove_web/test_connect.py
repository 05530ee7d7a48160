"""MCP clients in a live session: their calls belong to the session, and a token admits its user until it ends."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx2
import pytest
import uvicorn
from mcp import Client
from mcp.shared.exceptions import MCPError

from mcp_servers.catalogue import SERVERS, fingerprint
from mcp_servers.core import minute_text
from prove_web.accounts.models import Membership, Project, User
from prove_web.accounts.roles import Role
from prove_web.asgi import application
from prove_web.servers import session_services, tokens
from prove_web.servers.client_snippets import PREFIX
from prove_web.servers.mcp_endpoint import LARGEST
from prove_web.servers.models import ConnectToken, LiveSession, Source
from prove_web.servers.world_cache import cache, moments

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    """Run the site's own application on a free port, in a thread of its own."""
    server = uvicorn.Server(uvicorn.Config(application, port=0, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        threading.Event().wait(0.02)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(10)


@pytest.fixture
def session(project: Project, bob: User, settings: Any) -> LiveSession:
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    servers = ["banking", "calendar"]
    return LiveSession.objects.create(
        project=project, servers=servers, seed=7, size="small", fingerprint=fingerprint(servers), created_by=bob
    )


@pytest.fixture
def address(web: str, session: LiveSession, bob: User) -> str:
    return f"{web}{PREFIX}/{tokens.issue(session, bob, 'Desk', True)[1]}/"


def visit(url: str, scene: Callable[[Client], Awaitable[Any]], **options: Any) -> Any:
    async def run() -> Any:
        async with Client(url, **options) as client:
            return await scene(client)

    return asyncio.run(run())


def call(url: str, tool: str, arguments: dict[str, Any] | None = None, **options: Any) -> Any:
    return visit(url, lambda client: client.call_tool(tool, arguments or {}), **options)


def status(url: str, method: str = "POST", **rest: Any) -> int:
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    given = {"content": json.dumps(request), "headers": headers | rest.pop("headers", {})} | rest
    return int(
        httpx2.request(method, url, **(given if method == "POST" else {"headers": given["headers"]})).status_code
    )


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_of_either_generation_calls_in_the_session(address: str, session: LiveSession, mode: str) -> None:
    result = call(address, "list_accounts", mode=mode)
    made = session.calls.get()
    assert (made.position, made.tool, made.ok, made.source) == (1, "list_accounts", True, Source.MCP)
    assert result.content[0].text == made.text == moments(session)[0].world.fork().call("list_accounts", {}).text
    assert made.client == ("Desk (mcp)" if mode == "auto" else "Desk"), (
        "an older client says its name only when it connects"
    )
    assert made.made_by.username == "bob"


def test_it_lists_the_sessions_tools_under_their_own_names(address: str) -> None:
    async def names(client: Client) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]

    known = [name for server in ("banking", "calendar") for name in SERVERS[server].tools]
    assert visit(address, names) == known


def test_by_hand_and_by_a_client_it_is_one_world(address: str, session: LiveSession, bob: User) -> None:
    state = moments(session)[0].world.sessions["calendar"].state
    calendar = next(row.id for row in state.calendars if not row.read_only)
    start = minute_text(state.now.replace(year=state.now.year + 1))
    given = {"calendar": calendar, "title": "dentist", "start": start, "duration": 30}
    event = json.loads(session_services.make(session, bob, "create_event", given).text)["id"]
    cache.entries.clear()  # as another process would find it
    assert not call(address, "cancel_event", {"event": event}).is_error
    assert list(session.calls.values_list("position", "source")) == [(1, Source.HAND), (2, Source.MCP)]
    assert call(address, "cancel_event", {"event": event}).is_error, "it is gone"


def test_its_resources_are_of_the_world_as_it_is_now(address: str, session: LiveSession) -> None:
    async def seen(client: Client) -> tuple[str, str]:
        state = await client.read_resource("prove://calendar/state")
        prompt = await client.get_prompt("calendar__example-task")
        return state.contents[0].text, prompt.messages[0].content.text

    state, task = visit(address, seen)
    assert json.loads(state)["now"] == minute_text(moments(session)[0].world.now) and task
    assert not session.calls.exists()


def test_what_no_tool_should_see_and_what_there_is_not_is_refused_and_not_stored(
    address: str, session: LiveSession
) -> None:
    for tool, arguments in (("no_such_tool", {}), ("send_email", {}), ("list_accounts", {"a": "\0"})):
        assert call(address, tool, arguments).is_error
    assert not session.calls.exists()
    assert call(address, "list_accounts", {"nonsense": 1}).is_error
    assert session.calls.get().ok is False, "a refusal of the tool itself is part of the story"


def test_a_reading_token_offers_and_calls_only_what_reads(web: str, session: LiveSession, bob: User) -> None:
    reading = f"{web}{PREFIX}/{tokens.issue(session, bob, 'Look', False)[1]}"

    async def listed(client: Client) -> list[bool]:
        return [bool(tool.annotations.read_only_hint) for tool in (await client.list_tools()).tools]

    assert all(visit(reading, listed))
    refused = call(reading, "cancel_event", {"event": "evt-1"})
    assert refused.is_error and "read-only" in refused.content[0].text
    assert not call(reading, "list_accounts").is_error
    assert [made.tool for made in session.calls.all()] == ["list_accounts"]


def test_the_token_may_come_as_bearer(web: str, session: LiveSession, bob: User) -> None:
    text = tokens.issue(session, bob, "Desk", True)[1]
    assert status(f"{web}{PREFIX}/", headers={"Authorization": f"Bearer {text}"}) == 200
    assert status(f"{web}{PREFIX}/") == 401
    assert status(f"{web}{PREFIX}/", headers={"Authorization": f"Basic {text}"}) == 401


def test_a_token_is_stored_only_as_a_hash(session: LiveSession, bob: User) -> None:
    made, text = tokens.issue(session, bob, "Desk", True)
    assert text not in json.dumps(list(ConnectToken.objects.values()), default=str)
    assert tokens.authenticate_session_token(text) == made and tokens.authenticate_session_token(made.hash) is None


def test_nobody_comes_in_by_a_token_that_is_revoked_or_whose_maker_has_gone(
    address: str, session: LiveSession, bob: User
) -> None:
    membership = Membership.objects.get(user=bob)
    assert status(address) == 200
    membership.role = Role.VIEWER
    membership.save()
    assert status(address) == 401, "who may only look may not call"
    membership.delete()
    assert status(address) == 401
    member = Membership.objects.create(user=bob, organisation=session.project.organisation, role=Role.ANNOTATOR)
    assert status(address) == 200
    User.objects.filter(pk=bob.pk).update(is_active=False)
    assert status(address) == 401
    User.objects.filter(pk=bob.pk).update(is_active=True)
    tokens.revoke(session.tokens.get())
    assert status(address) == 401 and member.pk


def test_strangers_other_pages_and_browsers_are_turned_away(web: str, address: str, session: LiveSession) -> None:
    assert status(f"{web}{PREFIX}/nonsense/") == 401
    assert status(address, headers={"Host": "evil.example"}) == 421
    assert status(address, headers={"Origin": "https://evil.example"}) == 403
    assert status(address, headers={"Origin": "null"}) == 403
    assert status(address, headers={"Origin": web}) == 200
    assert status(address, "GET") == status(address, "DELETE") == 405
    assert status(address, content=b"x" * (LARGEST + 1)) == 413
    assert status(address, content=b"{nope") == 400
    assert not session.calls.exists()


def test_a_session_that_is_removed_or_cannot_be_rebuilt_says_so(address: str, session: LiveSession) -> None:
    LiveSession.objects.filter(pk=session.pk).update(servers=["no_such_server"])
    assert status(address) == 410
    session_services.remove(session)
    assert status(address) == 401


def test_a_session_stored_from_another_world_tells_the_client(address: str, session: LiveSession) -> None:
    LiveSession.objects.filter(pk=session.pk).update(opening="0" * 32)
    assert status(address) == 410
    assert not session.calls.exists()


def test_a_full_session_takes_no_more(address: str, session: LiveSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_services, "MOST_CALLS", 1)
    assert not call(address, "list_accounts").is_error
    refused = call(address, "list_accounts")
    assert refused.is_error and "fork" in refused.content[0].text
    assert session.calls.count() == 1


def test_the_client_gets_an_error_for_an_unknown_resource(address: str) -> None:
    with pytest.raises(BaseException) as error:
        visit(address, lambda client: client.read_resource("prove://nothing/state"))
    found = error.value
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    assert isinstance(found, MCPError) and "no resource" in str(found)
