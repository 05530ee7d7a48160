"""The MCP gateway from the browser: pages query a real one over its socket; each team controls its own sessions."""

from __future__ import annotations

import asyncio
import html
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from mcp import Client as McpClient
from mcp.shared.exceptions import MCPError

from prove_web.accounts.models import Membership, Organisation, Project, User
from prove_web.accounts.roles import Role
from prove_web.core.broker import socket_path
from prove_web.environments import gateway
from prove_web.supervisor.checks import free_port
from prove_web.supervisor.programs import SUPERVISED, stopped_file
from tests.waiting import eventually

pytestmark = pytest.mark.django_db
SESSION = "prove/session"


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """Start a gateway by hand and yield its data folder."""
    with TemporaryDirectory(prefix="pv") as folder:
        control, port = socket_path(Path(folder), "gateway"), free_port("127.0.0.1", 0)
        options = {"port": port, "control": control, "secret-file": Path(folder, "mcp_secret")}
        words = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
        child = subprocess.Popen([sys.executable, "-m", "mcp_servers", "--http", "--quiet", *words])
        eventually(control.exists, "the gateway's socket")
        yield Path(folder)
        child.terminate()
        child.wait()


@pytest.fixture
def site(data: Path, settings: Any) -> Path:
    settings.PROVE_DATA = data
    return data


@pytest.fixture
def browser(as_user: Callable[[User], Client], bob: User) -> Client:
    return as_user(bob)


def at(project: Project, name: str, *rest: object) -> str:
    return reverse(name, args=[*project.path, *rest])


def page_text(browser: Client, project: Project) -> str:
    return html.unescape(browser.get(at(project, "gateway")).content.decode())


def opened(browser: Client, project: Project, title: str) -> gateway.Session:
    browser.post(at(project, "gateway-session-new"), {"title": title, "seed": "7", "size": "small"})
    return next(one for one in gateway.query_gateway().list_project_sessions(project) if one.name.startswith(title))


def call(address: str, meta: dict[str, str] | None = None) -> str:
    """Return the text of a tool call through the gateway, or its error."""

    async def scene() -> str:
        async with McpClient(address) as client:
            try:
                return str((await client.call_tool("list_accounts", {}, meta=meta)).content[0].text)
            except MCPError as error:
                return str(error)

    with ThreadPoolExecutor(1) as apart:  # a browser test may have left an event loop in this thread
        return apart.submit(asyncio.run, scene()).result()


def test_a_session_is_started_its_address_works_and_its_calls_are_seen(
    browser: Client, project: Project, site: Path
) -> None:
    one = opened(browser, project, "On my laptop")
    assert "CRD" in call(f"{one.address}/banking") or "ACC" in call(f"{one.address}/banking")
    text = page_text(browser, project)
    assert one.name in text and one.address in text and "banking" in text
    (seen,) = [each for each in gateway.query_gateway().list_project_sessions(project) if each.id == one.id]
    assert seen.calls >= 1 and seen.servers == ("banking",) and seen.client


def test_a_session_is_stopped_and_started_from_the_page(browser: Client, project: Project, site: Path) -> None:
    one = opened(browser, project, "To be stopped")
    page = at(project, "gateway-session")
    browser.post(page, {"do": "end", "session": one.id})
    assert "This session was ended at" in call(f"{one.address}/banking")
    assert "ended" in page_text(browser, project)
    browser.post(page, {"do": "start", "session": one.id})
    assert "This session was ended" not in call(f"{one.address}/banking")
    browser.post(page, {"do": "reset", "session": one.id})
    assert next(each for each in gateway.query_gateway().list_project_sessions(project) if each.id == one.id).calls == 0


def test_another_project_neither_sees_nor_handles_it(
    browser: Client, project: Project, site: Path, charlie: User, as_user: Callable[[User], Client]
) -> None:
    one, theirs = opened(browser, project, "Ours"), Project.objects.get(organisation__slug="other")
    stranger = as_user(charlie)
    assert one.name not in page_text(stranger, theirs)
    answer = stranger.post(at(theirs, "gateway-session"), {"do": "end", "session": one.id}, follow=True)
    assert "Session not found in this project" in answer.content.decode()
    assert gateway.query_gateway().list_project_sessions(project)[0].ended is None
    assert stranger.get(at(project, "gateway")).status_code == 404


def test_a_viewer_sees_a_session_but_not_the_address_that_lets_in(
    browser: Client, project: Project, site: Path, victor: User, as_user: Callable[[User], Client]
) -> None:
    one = opened(browser, project, "Looked at")
    text = page_text(as_user(victor), project)
    assert one.name in text and one.address not in text and "Stop</button>" not in text


def test_a_session_of_nobody_is_for_those_who_are_trusted_by_every_team(
    browser: Client, project: Project, site: Path, mary: User, as_user: Callable[[User], Client]
) -> None:
    call(f"{gateway.query_gateway().url}/banking", {SESSION: "whoever"})
    keeper = as_user(mary)
    assert "whoever" not in page_text(browser, project) and "whoever" in page_text(keeper, project)
    other = Organisation.objects.create(slug="second", name="Second")
    assert "whoever" not in page_text(keeper, project), "one team of the site does not know her"
    Membership.objects.create(organisation=other, user=mary, role=Role.MAINTAINER)
    assert "whoever" in page_text(keeper, project)


def test_a_gateway_that_was_started_by_hand_has_to_be_ended_by_hand(
    project: Project, site: Path, mary: User, as_user: Callable[[User], Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SUPERVISED, raising=False)
    keeper = as_user(mary)
    assert "Started manually" in page_text(keeper, project) and "Stop gateway" not in page_text(keeper, project)
    answer = keeper.post(at(project, "gateway-switch"), {"do": "stop"}, follow=True)
    assert "was not started by this site" in answer.content.decode() and not stopped_file(site).exists()


def test_a_request_to_stop_names_its_user_and_a_start_withdraws_it(
    project: Project, site: Path, mary: User, as_user: Callable[[User], Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SUPERVISED, "1")
    keeper, page = as_user(mary), at(project, "gateway-switch")
    assert gateway.query_gateway().state == "answers" and "Stop gateway" in page_text(keeper, project)
    keeper.post(page, {"do": "stop"})
    assert stopped_file(site).exists() and gateway.query_gateway().state == "stopping"
    assert "Stopping, requested by mary" in page_text(keeper, project)
    keeper.post(page, {"do": "start"})
    assert not stopped_file(site).exists() and gateway.query_gateway().state == "answers"


def test_one_team_does_not_stop_what_other_teams_use(
    project: Project, site: Path, mary: User, as_user: Callable[[User], Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SUPERVISED, "1")
    Organisation.objects.create(slug="second", name="Second")
    answer = as_user(mary).post(at(project, "gateway-switch"), {"do": "stop"}, follow=True)
    assert "requires the Maintainer role in every team" in answer.content.decode()
    assert not stopped_file(site).exists() and "Stop gateway" not in page_text(as_user(mary), project)


def test_where_nothing_answers_the_page_says_what_starts_it_or_who_stopped_it(
    project: Project,
    tmp_path: Path,
    settings: Any,
    mary: User,
    as_user: Callable[[User], Client],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.PROVE_DATA, keeper = tmp_path, as_user(mary)
    monkeypatch.setenv("PROVE_MCP_PORT", str(free_port("127.0.0.1", 0)))
    monkeypatch.delenv(SUPERVISED, raising=False)
    text = page_text(keeper, project)
    assert "no response at" in text and f"--secret-file {tmp_path}/mcp_secret" in text
    answer = keeper.post(at(project, "gateway-session-new"), {"seed": "7", "size": "small"}, follow=True)
    assert "The gateway does not respond" in answer.content.decode()
    monkeypatch.setenv(SUPERVISED, "1")
    assert "Starting at" in page_text(keeper, project)
    keeper.post(at(project, "gateway-switch"), {"do": "stop"})
    assert re.search(r"Stopped by mary at .*UTC", page_text(keeper, project), re.DOTALL)
    assert os.stat(stopped_file(tmp_path).parent).st_mode & 0o077 == 0


@pytest.mark.long
def test_a_session_that_makes_no_sense_is_refused_beside_its_field(
    browser: Client, project: Project, site: Path
) -> None:
    answer = browser.post(at(project, "gateway-session-new"), {"title": "x" * 61, "seed": "-1", "size": "huge"})
    assert answer.status_code == 422 and answer.content.decode().count("invalid-feedback") >= 3
