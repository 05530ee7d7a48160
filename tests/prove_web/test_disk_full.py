"""A full disk: pages and API say that it is full and what to do, and pages that only show something still work."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client

from prove_web.accounts.models import Organisation, Project, User
from prove_web.operations import views

pytestmark = pytest.mark.django_db
EVERYTHING = 10**18  # bytes


def fail(*rest: object, **given: object) -> Any:
    raise OperationalError("database or disk is full")


@pytest.fixture
def browser(as_user: Callable[[User], Client], alice: User) -> Client:
    client = as_user(alice)
    client.raise_request_exception = False
    return client


@pytest.mark.parametrize(
    ("full", "status", "says"), [(EVERYTHING, 507, "server disk is full"), (0, 500, "Server error")]
)
def test_a_page_that_cannot_be_stored_says_whether_the_disk_is_full(
    browser: Client, organisation: Organisation, monkeypatch: Any, full: int, status: int, says: str
) -> None:
    monkeypatch.setattr(Organisation, "__str__", fail)
    monkeypatch.setattr(views, "FULL", full)
    response = browser.get(organisation.get_absolute_url())
    assert response.status_code == status and says in response.content.decode()


def test_the_api_says_that_the_disk_is_full(browser: Client, monkeypatch: Any) -> None:
    from prove_web.accounts.models import ProjectQuerySet
    from prove_web.api import errors

    monkeypatch.setattr(errors, "FULL", EVERYTHING)
    monkeypatch.setattr(ProjectQuerySet, "filter_visible_to", fail)
    response = browser.get("/api/v1/projects")
    assert response.status_code == 507 and "The disk of this site is full" in response.json()["error"]


def test_every_page_of_a_team_warns_while_the_disk_has_too_little_room(
    browser: Client, project: Project, monkeypatch: Any
) -> None:
    for least, warned in ((EVERYTHING, True), (0, False)):
        monkeypatch.setattr("prove_web.accounts.context.LEAST_FREE", least)
        page = browser.get(project.get_absolute_url())
        assert page.status_code == 200 and ("server disk is almost full" in page.content.decode()) is warned
