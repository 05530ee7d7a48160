"""Pages as the web server makes them: over ASGI, each in one thread, with the server's own time beside it."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from asgiref.testing import ApplicationCommunicator

from prove_web.asgi import application

Answer = tuple[int, dict[str, str], bytes]


def get(path: str) -> Answer:
    """What is answered to a GET: status, headers, body."""

    async def asked() -> Answer:
        headers = [(b"host", b"localhost")]
        scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": headers}
        browser = ApplicationCommunicator(application, scope)
        await browser.send_input({"type": "http.request", "body": b"", "more_body": False})
        head, body, more = await browser.receive_output(30), b"", True
        while more:
            piece = await browser.receive_output(30)
            body, more = body + piece.get("body", b""), piece.get("more_body", False)
        await browser.wait(30)
        return head["status"], {name.decode().lower(): value.decode() for name, value in head["headers"]}, body

    with ThreadPoolExecutor(1) as apart:  # a browser test may have left an event loop in this thread
        return apart.submit(asyncio.run, asked()).result()


@pytest.mark.django_db(transaction=True)
def test_a_page_tells_how_long_the_server_took() -> None:
    status, headers, body = get("/sign-in/")
    assert status == 200 and b"Sign in" in body and "content-security-policy" in headers
    told = re.fullmatch(r"app;dur=(\d+\.\d)", headers["server-timing"])
    assert told and float(told[1]) > 0


def test_a_static_file_is_sent_and_one_that_is_not_there_is_not_found() -> None:
    status, headers, body = get("/static/prove/kit.css")
    assert status == 200 and headers["content-type"].startswith("text/css") and b"{" in body
    assert headers["x-content-type-options"] == "nosniff"
    assert get("/static/prove/nothing.css")[0] == 404
