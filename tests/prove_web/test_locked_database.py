"""While another connection locks the database, the site answers with 503 and when to try again."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest
from django.conf import settings
from django.db import OperationalError, connection
from django.test import Client
from django.urls import reverse

from prove_web.accounts.models import Project, User
from prove_web.core.database_busy import RETRY_AFTER, SENTENCE, is_busy
from prove_web.experiments.run_metadata import revision_of

from .api_operations import JSON
from .trained import run_of

pytestmark = [
    pytest.mark.skipif("sqlite" not in settings.DATABASES["default"]["ENGINE"], reason="of SQLite's one writer"),
    pytest.mark.django_db(transaction=True),
]


@contextmanager
def locked() -> Iterator[None]:
    """Hold an open write transaction on another connection."""
    connection.cursor().execute("PRAGMA busy_timeout = 10")
    with closing(sqlite3.connect(connection.settings_dict["NAME"], uri=True, timeout=0.01)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.rollback()


@pytest.fixture
def client(mary: User, as_user: Callable[[User], Client]) -> Client:
    found = as_user(mary)
    found.raise_request_exception = False
    return found


def test_a_page_that_cannot_write_says_that_the_database_is_busy(project: Project, client: Client) -> None:
    run = run_of(project, [0.1])
    notes, typed = (
        reverse("run-notes", args=[*project.path, run.number]),
        {"notes": "Mine", "revision": revision_of("")},
    )
    with locked():
        answer = client.post(notes, typed)
    assert (answer.status_code, answer["Retry-After"]) == (503, str(RETRY_AFTER))
    assert SENTENCE in answer.content.decode()
    assert client.post(notes, typed).status_code == 302, "once it is free"


def test_an_operation_that_cannot_write_says_so_too(project: Project, client: Client) -> None:
    run = run_of(project, [0.1])
    mark = f"/api/v1/{project.organisation.slug}/{project.slug}/runs/{run.number}/mark"
    with locked():
        answer = client.post(mark, {"add": ["mine"]}, JSON)
    assert (answer.status_code, answer["Retry-After"]) == (503, str(RETRY_AFTER))
    assert answer.json()["error"] == SENTENCE
    assert client.post(mark, {"add": ["mine"]}, JSON).json()["tags"] == ["mine"]


def test_another_fault_of_the_database_is_no_lock() -> None:
    assert not is_busy(OperationalError("no such table: runs")) and not is_busy(ValueError("locked"))
    assert is_busy(OperationalError("database is locked"))
