"""A refusal leaves nothing behind. The pages that need more than the right to view are listed by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import LazySettings
from django.db import models
from django.http import HttpResponse
from django.test import Client
from django.urls import URLResolver, get_resolver, reverse

from prove_web.accounts.models import Entry, Membership, Project, User
from prove_web.accounts.roles import Action, Role
from prove_web.api.api import NAMESPACE

from .furnished import furnish

# A page that changes something fails until it is listed here with the least permission that it needs.
MORE_THAN_LOOKING = {
    "member-add": Action.MANAGE,
    "member-change": Action.MANAGE,
    "member-remove": Action.MANAGE,
    "second-factor-require": Action.MANAGE,
    "team-edit": Action.MANAGE,
    "invitation-new": Action.MANAGE,
    "invitation-withdraw": Action.MANAGE,
    "audit": Action.MANAGE,
    "audit-export": Action.MANAGE,
    "project-new": Action.MANAGE,
    "job-stop": Action.LAUNCH,
    "job-resume": Action.LAUNCH,
    "job-move": Action.LAUNCH,
    "enrolment-new": Action.MANAGE,
    "enrolment-revoke": Action.MANAGE,
    "enrolment-drain": Action.MANAGE,
    "graph-prove": Action.LAUNCH,
    "graph-open": Action.ANNOTATE,
    "dataset-new": Action.LAUNCH,
    "version-new": Action.LAUNCH,
    "dataset-split": Action.LAUNCH,
    "dataset-mix": Action.LAUNCH,
    "import-new": Action.LAUNCH,
    "import-piece": Action.LAUNCH,
    "import-preview": Action.LAUNCH,
    "run-collect": Action.LAUNCH,
    "run-new": Action.LAUNCH,
    "run-import": Action.LAUNCH,
    "checkpoint-export-make": Action.LAUNCH,
    "sweep-new": Action.LAUNCH,
    "run-mark": Action.ANNOTATE,
    "runs-mark": Action.ANNOTATE,
    "run-views": Action.ANNOTATE,
    "run-view": Action.ANNOTATE,
    "runs-act": Action.LAUNCH,
    "run-notes": Action.ANNOTATE,
    "run-keep": Action.LAUNCH,
    "evaluation-new": Action.LAUNCH,
    "sweep-stop": Action.LAUNCH,
    "session-new": Action.ANNOTATE,
    "session-call": Action.ANNOTATE,
    "session-fork": Action.ANNOTATE,
    "session-reset": Action.ANNOTATE,
    "session-remove": Action.ANNOTATE,
    "session-token": Action.ANNOTATE,
    "session-token-revoke": Action.ANNOTATE,
    "session-faults": Action.ANNOTATE,
    "session-trajectory": Action.ANNOTATE,
    "call-save": Action.ANNOTATE,
    "saved-call": Action.ANNOTATE,
    "dataset-forecast": Action.LAUNCH,
    "trajectory-session": Action.ANNOTATE,
    "trajectory-views": Action.ANNOTATE,
    "trajectory-view": Action.ANNOTATE,
    "trajectory-accept": Action.ANNOTATE,
    "comment-add": Action.ANNOTATE,
    "comment-edit": Action.ANNOTATE,
    "comment-remove": Action.ANNOTATE,
    "thread-resolve": Action.ANNOTATE,
    "trajectory-fix": Action.ANNOTATE,
    "tool-call": Action.ANNOTATE,
    "environment-save": Action.LAUNCH,
    "gateway-switch": Action.LAUNCH,
    "gateway-session-new": Action.ANNOTATE,
    "gateway-session": Action.ANNOTATE,
    "server-check": Action.LAUNCH,
    "servers-check": Action.LAUNCH,
    "third-party-add": Action.MANAGE,
    "third-party": Action.MANAGE,
    "third-party-remove": Action.MANAGE,
    "rollout-session": Action.ANNOTATE,
    "queue-new": Action.LAUNCH,
    "queue-edit": Action.LAUNCH,
    "queue-close": Action.LAUNCH,
    "queue-labels": Action.LAUNCH,
    "adjudicate-next": Action.LAUNCH,
    "review-adjudicate": Action.LAUNCH,
    "review": Action.ANNOTATE,
    "review-next": Action.ANNOTATE,
    "review-undo": Action.ANNOTATE,
    "reward-save": Action.LAUNCH,
    "reward-remove": Action.LAUNCH,
    "disagreement-queue": Action.LAUNCH,
    "alert-change": Action.ANNOTATE,
    "alert-rules-add": Action.LAUNCH,
    "alert-rule-new": Action.LAUNCH,
    "alert-rule": Action.LAUNCH,
    "alert-rule-switch": Action.LAUNCH,
    "webhooks": Action.MANAGE,
    "webhook": Action.MANAGE,
    "webhook-change": Action.MANAGE,
    "shares": Action.LAUNCH,
    "share-new": Action.LAUNCH,
    "share-withdraw": Action.LAUNCH,
    "run-delete": Action.LAUNCH,
    "dataset-delete": Action.LAUNCH,
    "bin-restore": Action.LAUNCH,
    "project-delete": Action.MANAGE,
    "deleted-projects": Action.MANAGE,
    "deleted-project-restore": Action.MANAGE,
}
ROLES = {"alice": Role.OWNER, "mary": Role.MAINTAINER, "bob": Role.ANNOTATOR, "victor": Role.VIEWER}
OURS = (
    *("accounts", "live", "servers", "environments", "trajectories", "review", "experiments", "evaluations", "api"),
    *("sharing", "workers", "alerts"),
)
Parts = tuple[str, ...]


def walk(patterns: list[Any], parts: Parts = ()) -> Iterator[tuple[str, str, Parts]]:
    """Yield the name, the rule and the address parameters of each page."""
    for each in patterns:
        inner = (*parts, *each.pattern.converters)
        if isinstance(each, URLResolver) and each.namespace == NAMESPACE:
            continue  # operations of the API: test_api_rules.py checks those
        if isinstance(each, URLResolver):
            yield from walk(each.url_patterns, inner)
        else:
            yield each.name, each.callback.rule, inner


RULES = {name: rule for name, rule, _ in walk(get_resolver().url_patterns)}
PARTS = {name: parts for name, rule, parts in walk(get_resolver().url_patterns) if ": " in rule}
LEAST = {name: Action(RULES[name].split(": ")[1]) for name in PARTS}


@pytest.fixture
def team(alice: User, mary: User, bob: User, victor: User, charlie: User) -> dict[str, User]:
    return {user.username: user for user in (alice, mary, bob, victor, charlie)}


@pytest.fixture
def names(team: dict[str, User], project: Project, settings: LazySettings, tmp_path: Path) -> dict[str, Any]:
    settings.PROVE_DATA = tmp_path
    return furnish(project, team["mary"])


def address(page: str, names: dict[str, Any]) -> str:
    return reverse(page, kwargs={part: names[part] for part in PARTS[page]})


def send(client: Client, url: str) -> list[int]:
    answers: list[HttpResponse] = [client.get(url), client.post(url)]
    for answer in answers:
        answer.close()
    return [answer.status_code for answer in answers]


def picture() -> dict[str, list[Any]]:
    """Return every row of our tables, except entries of the audit log about exports and tokens."""
    tables: list[type[models.Model]] = [table for label in OURS for table in apps.get_app_config(label).get_models()]
    rows = {table.__name__: list(table.objects.order_by("pk").values()) for table in tables}
    noted = Entry.objects.exclude(did="exported").exclude(content_type__model="apitoken")
    return {**rows, "Entry": list(noted.order_by("pk").values())}


def test_pages_that_need_more_than_viewing_are_listed() -> None:
    assert {name: action for name, action in LEAST.items() if action != Action.VIEW} == MORE_THAN_LOOKING


def test_only_signing_in_and_out_and_how_the_site_does_is_for_anyone() -> None:
    assert {name for name, rule in RULES.items() if rule == "anyone"} == {
        *("sign-in", "sign-out"),
        "join",  # anyone with the link of an invitation
        *("account_login", "mfa_login_webauthn"),
        "mfa_authenticate",  # the second step of signing in, after the password
        *("openid_connect_login", "openid_connect_callback", "socialaccount_login_cancelled"),
        *("health", "ready", "metrics"),  # the last needs a token, or a request from this machine
        *("shared", "shared-part", "shared-live"),  # anyone with the link
        *("worker-hello", "worker-next", "worker-tell", "worker-goodbye"),  # these need a machine's token
        *("worker-file", "worker-result", "worker-results"),
    }


@pytest.mark.parametrize(
    "person", ["victor", *(pytest.param(name, marks=pytest.mark.long) for name in ("mary", "bob", "charlie"))]
)
def test_what_is_refused_changes_nothing(
    person: str, team: dict[str, User], names: dict[str, Any], as_user: Callable[[User], Client]
) -> None:
    client, role = as_user(team[person]), ROLES.get(person)
    before = picture()
    for page in PARTS:
        if role is None or not role.covers(LEAST[page]):
            assert {*send(client, address(page, names))} == {404 if role is None else 403}, page
    assert picture() == before


def test_a_page_for_looking_changes_nothing(
    team: dict[str, User], names: dict[str, Any], as_user: Callable[[User], Client]
) -> None:
    client = as_user(team["victor"])
    before = picture()
    for page, action in LEAST.items():
        if action == Action.VIEW:
            send(client, address(page, names))
    assert picture() == before


@pytest.mark.parametrize("page", ["member-change", "member-remove"])
def test_members_of_another_team_are_not_found_here(
    page: str, team: dict[str, User], names: dict[str, Any], as_user: Callable[[User], Client]
) -> None:
    theirs = Membership.objects.get(user=team["charlie"])
    url = address(page, {**names, "member": theirs.pk})
    assert as_user(team["alice"]).post(url, {"role": "viewer"}).status_code == 404
    assert Membership.objects.get(pk=theirs.pk).role == Role.OWNER
