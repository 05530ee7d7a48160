"""Webhooks are delivered and signed, tried again while that may help, and never redirected."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from django.test import Client

from prove_web.accounts.models import Project, User
from prove_web.alerts.models import Alert, Delivery, Rule, Webhook
from prove_web.alerts.webhook_delivery import NotNow, deliver

from .trained import run_of

pytestmark = pytest.mark.django_db
SignIn = Callable[[User], Client]
HERE = "/acme/demo/alerts/webhooks/"


class Listener(ThreadingHTTPServer):
    """A server on this machine that responds with the given statuses, and repeats the last one."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.statuses: list[int] = [200]
        self.heard: list[tuple[dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/hook"


class Answer(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server: Any = self.server
        server.heard.append((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
        status = server.statuses.pop(0) if len(server.statuses) > 1 else server.statuses[0]
        self.send_response(status)
        if 300 <= status < 400:
            self.send_header("Location", server.url)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *said: Any) -> None:
        pass


@pytest.fixture
def listener(settings: Any) -> Iterator[Listener]:
    server = Listener()
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    settings.WEBHOOK_HOSTS = frozenset({f"127.0.0.1:{server.server_address[1]}"})
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def alert(project: Project) -> Alert:
    rule = Rule.objects.create(project=project, name="Low <!channel>", metric="points.reward")
    return Alert.objects.create(project=project, rule=rule, run=run_of(project, [0.5]), key="step-1", step=1, value=0.5)


def delivery(project: Project, url: str, about: Alert | None = None, **hook: Any) -> Delivery:
    made = {"name": "Chat", "secret": "quiet", "origin": "https://prove.example", "url": url, **hook}
    return Delivery.objects.create(webhook=Webhook.objects.create(project=project, **made), alert=about)


def delivered(one: Delivery, last: bool = False) -> Delivery:
    deliver(one.pk, last)
    one.refresh_from_db()
    return one


def test_an_alert_is_delivered_and_signed(project: Project, alert: Alert, listener: Listener) -> None:
    one = delivered(delivery(project, listener.url, alert))
    assert (one.state, one.status, one.tries) == ("sent", 200, 1)
    [(headers, body)] = listener.heard
    signed = hmac.new(b"quiet", headers["X-Prove-Timestamp"].encode() + b"." + body, hashlib.sha256).hexdigest()
    assert headers["X-Prove-Signature"] == f"sha256={signed}"
    said = json.loads(body)
    assert said["url"] == f"https://prove.example{alert.get_absolute_url()}"
    assert (said["event"], said["step"], said["value"], said["run"]["number"]) == ("alert", 1, 0.5, 1)
    deliver(one.pk)
    assert len(listener.heard) == 1, "what was sent is not sent again"


def test_a_chat_finds_no_mention_in_a_name(project: Project, alert: Alert, listener: Listener) -> None:
    delivered(delivery(project, listener.url, alert, format="slack"))
    [(_, body)] = listener.heard
    said = json.loads(body)
    assert said.keys() == {"text"} and "&lt;!channel&gt;" in said["text"] and "<!" not in said["text"]


@pytest.mark.parametrize("status", [500, 503, 408, 429])
def test_what_may_pass_is_tried_again_until_it_is_the_last_try(
    project: Project, listener: Listener, status: int
) -> None:
    one = delivery(project, listener.url)
    listener.statuses = [status]
    for _ in range(2):
        with pytest.raises(NotNow):
            deliver(one.pk)
    one.refresh_from_db()
    assert (one.state, one.tries, one.status) == ("waiting", 2, status)
    assert delivered(one, last=True).state == "failed"
    listener.statuses = [200]
    assert delivered(delivery(project, listener.url)).state == "sent"


@pytest.mark.parametrize("status", [301, 302, 307, 400, 401, 404, 410])
def test_what_will_not_pass_is_not_tried_again_and_no_redirect_is_followed(
    project: Project, listener: Listener, status: int
) -> None:
    listener.statuses = [status]
    one = delivered(delivery(project, listener.url))
    assert (one.state, one.status, len(listener.heard)) == ("failed", status, 1)
    assert ("redirect" in one.error) is (status < 400)


def test_an_address_inside_the_network_is_refused_whatever_was_stored(
    project: Project, listener: Listener, settings: Any
) -> None:
    settings.WEBHOOK_HOSTS = frozenset()
    for url in (listener.url, "http://localhost/", "http://169.254.169.254/latest", "https://[::1]/"):
        one = delivered(delivery(project, url))
        assert (one.state, one.status) == ("failed", None) and one.error
    assert listener.heard == []


def test_a_missing_listener_is_reported_and_tried_again(project: Project, listener: Listener) -> None:
    one = delivery(project, listener.url)
    listener.server_close()
    with pytest.raises(NotNow):
        deliver(one.pk)
    one.refresh_from_db()
    assert one.state == "waiting" and "No response" in one.error


def test_an_owner_adds_one_and_its_secret_is_displayed_once(
    project: Project, alice: User, as_user: SignIn, listener: Listener
) -> None:
    client = as_user(alice)
    page = client.post(HERE, {"name": "Chat", "url": listener.url, "format": "json"})
    hook = Webhook.objects.get()
    assert hook.secret in page.text and hook.made_by == alice and hook.origin == "http://testserver"
    assert hook.secret not in client.get(HERE).text + client.get(f"{HERE}{hook.pk}/").text
    client.post(f"{HERE}{hook.pk}/change/", {"do": "test"})
    assert delivered(hook.deliveries.get()).state == "sent"
    assert ">Test<" in client.get(f"{HERE}{hook.pk}/").text and b"test" in listener.heard[0][1]
    for do, there in (("remove", False), ("restore", True)):
        client.post(f"{HERE}{hook.pk}/change/", {"do": do})
        assert (client.get(f"{HERE}{hook.pk}/").status_code == 200) is there


@pytest.mark.parametrize(
    "url", ["ftp://example.com/", "https://me:secret@example.com/", "http://example.com:6379/", "x"]
)
def test_an_address_that_is_no_webhook_is_refused_by_the_form(
    project: Project, alice: User, as_user: SignIn, url: str
) -> None:
    page = as_user(alice).post(HERE, {"name": "Chat", "url": url, "format": "json"})
    assert page.status_code == 422 and url in page.text, "nothing that was typed is lost"
    assert not Webhook.objects.exists()
