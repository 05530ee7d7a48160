"""Alice owns the team, Bob annotates in it, Victor may view it; Charlie has another team and no access here."""

import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from copy import copy
from pathlib import Path
from typing import Any

import pytest
from django.test import Client, override_settings
from django.test import client as test_client
from django.test.utils import ContextList
from kombu import pools

from prove_web.accounts.models import Membership, Organisation, Project, User
from prove_web.accounts.roles import Role
from prove_web.celery import app
from prove_web.live import message_broker
from prove_web.supervisor import valkey
from tests.waiting import eventually
from training_worker.core.broker import celery_url

from .postgres import postgres

__all__ = ["postgres"]


@pytest.fixture(autouse=True)
def quick_passwords(settings: Any) -> None:
    """Hash passwords quickly: slow hashing belongs to the library, and these tests do not check it."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


OPENING = re.compile(r"<\w[^<>]*>")
VERBATIM = re.compile(r"(<(?:pre|textarea|script|style)\b.*?</(?:pre|textarea|script|style)>)", re.DOTALL)


def one_line(markup: str) -> str:
    """Undo the line breaks of templates: none at the edges of an element, otherwise a space; `<pre>` stays as it is."""
    return "".join(part if at % 2 else join_lines(part) for at, part in enumerate(VERBATIM.split(markup)))


def join_lines(markup: str) -> str:
    """Join the lines: without a space after an opening and before a closing tag, otherwise with one."""
    first, *lines = markup.split("\n")
    if not lines:
        return first
    parts, tag = [first.rstrip()], ""  # `tag` begins at the last "<"
    for line in [*filter(None, map(str.strip, lines[:-1])), lines[-1].lstrip()]:
        before = parts[-1]
        tag = before[before.rindex("<") :] if "<" in before else f"{tag} {before}"
        parts += ["" if OPENING.fullmatch(tag) or line.startswith("</") else " ", line]
    return "".join(parts)


def store_context_once(store: dict[str, Any], signal: Any, sender: Any, template: Any, context: Any, **_: Any) -> None:
    """Store a page's context once, where Django's test client copies it again for each template that it includes."""
    store.setdefault("templates", []).append(template)
    if context is not store.get("last"):
        store["last"] = context
        store.setdefault("context", ContextList()).append(copy(context))


test_client.store_rendered_templates = store_context_once


@pytest.fixture(autouse=True)
def pages_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give tests each page without its line breaks, so that no assertion depends on where a template breaks a line."""
    original = Client.request

    def request(client: Client, **environ: Any) -> Any:
        response = original(client, **environ)
        if not response.streaming and response.get("Content-Type", "").startswith("text/html"):
            response.content = one_line(response.content.decode()).encode()
        return response

    monkeypatch.setattr(Client, "request", request)


@pytest.fixture
def broker() -> Iterator[str]:
    """Start a real broker for one test: settings, messages and Celery use it and no other broker."""
    before = app.conf.broker_url
    with tempfile.TemporaryDirectory(prefix="pv") as folder:  # short: a socket's path has a limit
        url = f"unix://{folder}/s?db=0"
        program = valkey.program(Path(folder), Path(folder, "s"), valkey.binary(), {})
        server = subprocess.Popen(program.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        eventually(lambda: valkey.answers(url), "an answer of the broker", every=0.02)
        layer = {"BACKEND": "channels_redis.core.RedisChannelLayer", "CONFIG": {"hosts": [url]}}
        with override_settings(REDIS_URL=url, CHANNEL_LAYERS={"default": layer}):
            talk_to(celery_url(url))
            yield url
        talk_to(before)
        server.kill()
        server.wait()


def talk_to(url: str) -> None:
    """Leave no connection to another broker in a pool."""
    message_broker.broker.cache_clear()
    app.conf.update(broker_url=url, broker_read_url=url, broker_write_url=url)
    pools.reset()
    app._pool = app.amqp._producer_pool = None


def person(name: str) -> User:
    return User.objects.create_user(name, f"{name}@example.com", "correct horse battery")


@pytest.fixture
def organisation(db: None) -> Organisation:
    return Organisation.objects.create(slug="acme", name="Acme")


@pytest.fixture
def project(organisation: Organisation) -> Project:
    return Project.objects.create(organisation=organisation, slug="demo", name="Demo")


@pytest.fixture
def alice(organisation: Organisation) -> User:
    return member(organisation, "alice", Role.OWNER)


@pytest.fixture
def mary(organisation: Organisation) -> User:
    return member(organisation, "mary", Role.MAINTAINER)


@pytest.fixture
def bob(organisation: Organisation) -> User:
    return member(organisation, "bob", Role.ANNOTATOR)


@pytest.fixture
def victor(organisation: Organisation) -> User:
    return member(organisation, "victor", Role.VIEWER)


@pytest.fixture
def charlie(db: None) -> User:
    other = Organisation.objects.create(slug="other", name="Other")
    Project.objects.create(organisation=other, slug="demo", name="Theirs")
    return member(other, "charlie", Role.OWNER)


@pytest.fixture
def as_user() -> Callable[[User], Client]:
    def sign_in(user: User) -> Client:
        client = Client()
        client.force_login(user)
        return client

    return sign_in


def member(organisation: Organisation, name: str, role: Role) -> User:
    user = person(name)
    Membership.objects.create(organisation=organisation, user=user, role=role)
    return user
