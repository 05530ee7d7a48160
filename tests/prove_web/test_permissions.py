"""Who may open what: everyone requests every address and every socket of the site.

Alice owns the team, Mary maintains, Bob annotates, Victor may look; Charlie is a stranger; someone has not signed in.
An address without a rule fails, and so does one with a part that `parts` cannot fill in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, get_resolver, reverse

from prove_web.accounts.models import Membership, Organisation, Project, User
from prove_web.accounts.roles import Action, Role
from prove_web.api.api import NAMESPACE
from prove_web.live.routing import routes
from prove_web.live.socket_permissions import get_permitted_users
from prove_web.trajectories.models import Trajectory

from .furnished import furnish

RULES = {"anyone", "signed in", *(f"{where}: {each}" for where in ("project", "organisation") for each in Action)}
TEAM = {"alice": Role.OWNER, "mary": Role.MAINTAINER, "bob": Role.ANNOTATOR, "victor": Role.VIEWER}
EVERYONE = (*TEAM, "charlie", "anonymous")
OBJECTS = {
    *(
        "job",
        "session",
        "dataset",
        "run",
        "sweep",
        "evaluation",
        "other",
        "view",
        "saved_view",
        "queue",
        "reward",
        "share",
    ),
    *("deletion", "rule", "alert", "hook"),
}
PASSWORD = make_password("correct horse battery")


@dataclass(frozen=True)
class Page:
    """One address of the site: its name, the rule it is under, and the names of its parts."""

    name: str
    rule: str
    parts: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


def pages(resolver: Any, parts: tuple[str, ...] = ()) -> Iterator[Page]:
    for each in resolver.url_patterns:
        mine = (*parts, *each.pattern.converters)
        if getattr(each, "namespace", None) == NAMESPACE:
            continue  # operations of the API: test_api_rules.py requests those
        if isinstance(each, URLPattern):
            yield Page(each.name or str(each.pattern), getattr(each.callback, "rule", ""), mine)
        else:
            yield from pages(each, mine)


PAGES = list(pages(get_resolver()))
GUARDED = [page for page in PAGES if page.rule not in ("anyone", "signed in")]


@pytest.fixture
def team(db: None) -> dict[str, User]:
    """Create everyone, by name, with one hashed password."""
    ours = Organisation.objects.create(slug="acme", name="Acme")
    theirs = Organisation.objects.create(slug="other", name="Other")
    people = {
        name: User.objects.create(username=name, email=f"{name}@example.com", password=PASSWORD)
        for name in (*TEAM, "charlie", "leaver")
    }
    for name, role in TEAM.items():
        Membership.objects.create(organisation=ours, user=people[name], role=role)
    Membership.objects.create(organisation=theirs, user=people["charlie"], role=Role.OWNER)
    return people


@pytest.fixture
def parts(team: dict[str, User], settings: LazySettings, tmp_path: Path) -> dict[str, Any]:
    """Return what fills the parts of an address: one object of each kind, in one project of two."""
    settings.PROVE_DATA = tmp_path
    ours = Organisation.objects.get(slug="acme")
    project = Project.objects.create(organisation=ours, slug="demo", name="Demo")
    Project.objects.create(organisation=ours, slug="second", name="Second")
    leaver = Membership.objects.create(organisation=ours, user=team["leaver"])
    return {**furnish(project, team["mary"]), "member": leaver.pk}


def address(page: Page, parts: dict[str, Any], **other: Any) -> str:
    return reverse(page.name, kwargs={part: {**parts, **other}[part] for part in page.parts})


def ask(client: Client, url: str) -> list[Any]:
    """Return the answers to GET and to an empty POST; undo what they did to the database."""
    with transaction.atomic():
        answers = [client.get(url), client.post(url)]
        transaction.set_rollback(True)
    for answer in answers:
        answer.close()  # a download holds its file
    return answers


def fits(answer: Any, who: str, action: Action) -> bool:
    """Return whether an answer obeys the rule: a stranger finds nothing, too low a role is refused."""
    if who == "anonymous":
        return answer.status_code == 302 and answer.url.startswith(reverse("sign-in"))
    if who not in TEAM or not TEAM[who].covers(action):
        return answer.status_code == (403 if who in TEAM else 404)
    if answer.status_code == 302:
        return not answer.url.startswith(reverse("sign-in"))
    return answer.status_code in {200, 400, 405, 422}


def test_every_address_has_a_name_of_its_own_and_a_rule() -> None:
    assert {page.name: page.rule for page in PAGES if page.rule not in RULES} == {}
    assert len({page.name for page in PAGES}) == len(PAGES)


def test_what_lies_in_a_project_or_an_organisation_is_guarded_as_such() -> None:
    for page in PAGES:
        where = "project: " if "project" in page.parts else "organisation: " if "organisation" in page.parts else ""
        if "secret" in page.parts:  # the secret of a link, which needs nothing else
            assert page.rule == "anyone" and not {"project", "organisation"} & {*page.parts}, page.name
        else:
            assert page.rule.startswith(where), page.name


def test_every_socket_has_a_rule_that_keeps_strangers_out() -> None:
    assert [route.callback.consumer_class.rule for route in routes] == [f"project: {Action.VIEW}"]


@pytest.mark.parametrize(
    "who", [pytest.param(name, marks=[pytest.mark.long] * (name in ("mary", "bob"))) for name in EVERYONE]
)
def test_a_page_opens_for_the_roles_that_may_and_for_nobody_else(
    who: str, team: dict[str, User], parts: dict[str, Any]
) -> None:
    client = Client()
    if who in team:
        client.force_login(team[who])
    odd = {}
    for page in GUARDED:
        answers = ask(client, address(page, parts))
        if not all(fits(answer, who, Action(page.rule.split(": ")[1])) for answer in answers):
            odd[page.name] = [answer.status_code for answer in answers]
    assert odd == {}


def test_nothing_is_found_under_the_address_of_another_project(
    team: dict[str, User], parts: dict[str, Any], as_user: Callable[[User], Client]
) -> None:
    alice = as_user(team["alice"])
    odd = {}
    for page in GUARDED:
        if OBJECTS & {*page.parts}:
            found = [answer.status_code for answer in ask(alice, address(page, parts, project="second"))]
            if not ({*found} <= {404, 405} and 404 in found):
                odd[page.name] = found
    assert odd == {}


@pytest.mark.parametrize("who", EVERYONE)
def test_the_socket_is_open_to_the_team_and_nobody_else(who: str, team: dict[str, User], parts: dict[str, Any]) -> None:
    user, project = team.get(who, AnonymousUser()), Project.objects.get(slug="demo")
    trajectory = ("trajectory", str(Trajectory.objects.filter(dataset__project=project).first().pk))
    for topic in (
        ("job", str(parts["job"])),
        ("project", str(project.pk)),
        ("session", str(parts["session"])),
        trajectory,
    ):
        assert bool(get_permitted_users(topic, [user.pk or 0])) is (who in TEAM)


def test_a_stranger_gets_the_same_answer_for_what_is_there_and_what_is_not(
    team: dict[str, User], parts: dict[str, Any], as_user: Callable[[User], Client]
) -> None:
    charlie = as_user(team["charlie"])
    there, nowhere = charlie.get("/acme/demo/"), charlie.get("/acme/nothing/")
    assert there.status_code == nowhere.status_code == 404
    assert there.content == nowhere.content


def test_who_is_removed_sees_nothing_more(
    team: dict[str, User], parts: dict[str, Any], as_user: Callable[[User], Client]
) -> None:
    victor = as_user(team["victor"])
    assert victor.get("/acme/demo/").status_code == 200
    Membership.objects.get(user=team["victor"]).delete()
    assert victor.get("/acme/demo/").status_code == 404
