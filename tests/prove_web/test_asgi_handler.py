"""Pages as the web server sends them: over ASGI, each in one thread, with a header of the server's time."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from asgiref.testing import ApplicationCommunicator
from django.conf import LazySettings
from django.test import Client

from prove_web.accounts.models import Project, User
from prove_web.asgi import application

from .furnished import furnish
from .test_permissions import PAGES, address

Answer = tuple[int, dict[str, str], bytes]
SENT = (
    *("runs-export", "export", "queue-labels", "rollouts-export", "checkpoint", "checkpoint-export", "audit-export"),
    "import-faults",
)


def get(url: str, cookies: str = "") -> Answer:
    """Send a GET request and return the status, the headers and the body."""
    path, _, query = url.partition("?")

    async def request() -> Answer:
        headers = [(b"host", b"localhost"), (b"cookie", cookies.encode())]
        scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": headers}
        browser = ApplicationCommunicator(application, scope)
        await browser.send_input({"type": "http.request", "body": b"", "more_body": False})
        head, body, more = await browser.receive_output(30), b"", True
        while more:
            piece = await browser.receive_output(30)
            body, more = body + piece.get("body", b""), piece.get("more_body", False)
        await browser.wait(30)
        return head["status"], {name.decode().lower(): value.decode() for name, value in head["headers"]}, body

    with ThreadPoolExecutor(1) as apart:  # a browser test may have left an event loop in this thread
        return apart.submit(asyncio.run, request()).result()


@pytest.mark.django_db(transaction=True)
def test_a_page_tells_how_long_the_server_took() -> None:
    status, headers, body = get("/sign-in/")
    assert status == 200 and b"Sign in" in body and "content-security-policy" in headers
    match = re.fullmatch(r"app;dur=(\d+\.\d)", headers["server-timing"])
    assert match and float(match[1]) > 0


@pytest.mark.django_db(transaction=True)
def test_what_is_made_while_it_is_sent_is_the_same_over_asgi(
    project: Project, alice: User, settings: LazySettings, tmp_path: Path
) -> None:
    settings.PROVE_DATA = tmp_path
    names = furnish(project, alice)
    client = Client()
    client.force_login(alice)
    cookies = f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
    for page in (page for page in PAGES if page.name in SENT):
        url = address(page, names) + "?format=csv"
        status, _, body = get(url, cookies)
        assert (status, body) == (200, client.get(url).getvalue()), page


def test_a_static_file_is_sent_and_one_that_is_not_there_is_not_found() -> None:
    status, headers, body = get("/static/prove/kit.css")
    assert status == 200 and headers["content-type"].startswith("text/css") and b"{" in body
    assert headers["x-content-type-options"] == "nosniff"
    assert get("/static/prove/nothing.css")[0] == 404
