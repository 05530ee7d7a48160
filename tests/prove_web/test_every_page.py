"""The browser tests open every page, except those that are excused with a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from django.conf import LazySettings
from django.http import HttpResponseBase
from django.test import Client
from django.urls import resolve, reverse

from prove_web.accounts.models import Project, User
from tests.browser.every_page import CONFIRMED, EVALUATIONS, EXCUSED, FURNISHED, HERE, PAGES, TRAJECTORY

from . import test_permissions as permissions
from .furnished import furnish


def looked_at() -> set[str]:
    addresses = [urljoin(HERE, each.partition("?")[0]) for each in (*PAGES, *EVALUATIONS)]
    addresses += [HERE + each.format(example="train-0-000000") for each in TRAJECTORY]
    return {resolve(each).url_name for each in addresses} | {*FURNISHED, *CONFIRMED}


def is_full_page(answer: HttpResponseBase) -> bool:
    """Return whether a response is a full page, and no fragment, file or redirect."""
    is_text = answer.headers.get("Content-Type", "").startswith("text/html")
    return answer.status_code == 200 and is_text and b"<html" in getattr(answer, "content", b"")


def confirmed(person: User) -> Client:
    """Return a signed-in client that has just confirmed its password."""
    client = Client()
    client.force_login(person)
    client.post(reverse("account_reauthenticate"), {"password": "correct horse battery"})
    return client


def test_every_page_is_looked_at_or_excused(
    project: Project, alice: User, settings: LazySettings, tmp_path: Path
) -> None:
    settings.PROVE_DATA = tmp_path
    names: dict[str, Any] = furnish(project, alice)
    client = confirmed(alice)
    opened = looked_at() - {*FURNISHED, *CONFIRMED}  # the browser opens these by their addresses
    pages = set()
    for page in permissions.PAGES:
        if page.name in opened:
            continue
        answer = client.get(permissions.address(page, names))
        answer.close()
        pages |= {page.name} if is_full_page(answer) else set()
    assert pages - looked_at() - {*EXCUSED} == set(), "look at it in tests/browser/every_page.py"
    assert {*FURNISHED, *CONFIRMED, *EXCUSED} - pages == set(), "there is no such page"
