"""Who may do what, for every address there is: a page or socket that nobody thought about fails here.

Alice owns the team, Mary maintains, Bob annotates, Victor may look, Charlie owns another team.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.apps import apps
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from prove_web.accounts.models import Membership, Organisation, Project, User
from prove_web.accounts.roles import Action, Role
from prove_web.live.routing import routes

from .furnished import furnish

# Every page that takes more than looking. A new one fails until it is written here.
MORE_THAN_LOOKING = {
    "member-add": Action.MANAGE,
    "member-change": Action.MANAGE,
    "member-remove": Action.MANAGE,
    "project-new": Action.MANAGE,
    "job-stop": Action.LAUNCH,
    "job-resume": Action.LAUNCH,
    "graph-prove": Action.LAUNCH,
    "dataset-new": Action.LAUNCH,
    "run-new": Action.LAUNCH,
    "session-new": Action.ANNOTATE,
    "session-call": Action.ANNOTATE,
    "session-fork": Action.ANNOTATE,
    "session-reset": Action.ANNOTATE,
}
ROLES = {"alice": Role.OWNER, "mary": Role.MAINTAINER, "bob": Role.ANNOTATOR, "victor": Role.VIEWER}
OURS = ("accounts", "live", "servers", "trajectories", "experiments")


@dataclass(frozen=True)
class Page:
    name: str
    rule: str
    parts: tuple[str, ...]  # what its address names

    def url(self, names: dict[str, Any]) -> str:
        return reverse(self.name, kwargs={part: names[part] for part in self.parts})

    @property
    def action(self) -> Action | None:
        """What it is for; None for a page of no team."""
        return Action(self.rule.split(": ")[1]) if ": " in self.rule else None


def walk(patterns: list[Any], parts: tuple[str, ...] = ()) -> Iterator[Page]:
    for each in patterns:
        inner = (*parts, *each.pattern.converters)
        if isinstance(each, URLResolver):
            yield from walk(each.url_patterns, inner)
        else:
            assert isinstance(each, URLPattern)
            yield Page(each.name or str(each.pattern), getattr(each.callback, "rule", ""), inner)


PAGES = list(walk(get_resolver().url_patterns))
OF_A_TEAM = [page for page in PAGES if page.action]


@pytest.fixture
def team(alice: User, mary: User, bob: User, victor: User, charlie: User) -> dict[str, User]:
    return {user.username: user for user in (alice, mary, bob, victor, charlie)}


@pytest.fixture
def names(team: dict[str, User], project: Project) -> dict[str, Any]:
    return furnish(project, team["mary"])


def answers(client: Client, url: str) -> dict[str, HttpResponse]:
    return {"GET": client.get(url), "POST": client.post(url)}


def seen(response: HttpResponse) -> int | str:
    """The status; of a redirection only whether it leads to the sign-in page."""
    response.close()
    to_sign_in = response.status_code == 302 and response["Location"].startswith(reverse("sign-in"))
    return "sign-in" if to_sign_in else response.status_code


def refusals(client: Client, names: dict[str, Any], pages: list[Page], expected: int | str) -> list[str]:
    """The pages that answered in another way, and how."""
    return [
        f"{method} {page.name}: {answer}"
        for page in pages
        for method, response in answers(client, page.url(names)).items()
        if (answer := seen(response)) != expected
    ]


def picture() -> dict[str, list[Any]]:
    """Every row of ours."""
    models = [model for label in OURS for model in apps.get_app_config(label).get_models()]
    return {model.__name__: list(model.objects.order_by("pk").values()) for model in models}


def test_every_page_and_socket_is_written_under_a_rule() -> None:
    rules = {"anyone", "signed in", *(f"{of}: {action}" for of in ("project", "organisation") for action in Action)}
    assert [page.name for page in PAGES if page.rule not in rules] == []
    assert [str(route.pattern) for route in routes if route.callback.consumer_class.rule not in rules] == []


def test_what_takes_more_than_looking_is_written_down() -> None:
    found = {page.name: page.action for page in OF_A_TEAM if page.action != Action.VIEW}
    assert found == MORE_THAN_LOOKING


def test_only_signing_in_and_out_is_for_anyone() -> None:
    assert {page.name for page in PAGES if page.rule == "anyone"} == {"sign-in", "sign-out"}


def test_an_address_inside_a_team_has_the_rule_of_a_team() -> None:
    assert [page.name for page in PAGES if "organisation" in page.parts and not page.action] == []
    assert [page.name for page in OF_A_TEAM if page.rule.startswith("project") != ("project" in page.parts)] == []


@pytest.mark.parametrize("person", ROLES)
def test_a_member_gets_what_the_role_covers_and_is_told_of_the_rest(
    person: str, team: dict[str, User], names: dict[str, Any], as_user: Callable[[User], Client]
) -> None:
    covered = [page for page in OF_A_TEAM if ROLES[person].covers(page.action)]
    beyond = [page for page in OF_A_TEAM if page not in covered]
    client = as_user(team[person])
    before = picture()
    assert refusals(client, names, beyond, 403) == []
    assert picture() == before, "what is refused changes nothing"
    assert [page.name for page in covered if not opens(client, page.url(names))] == []


def opens(client: Client, url: str) -> bool:
    """Whether the page answers as it does for someone who is welcome; what it does is undone."""
    with transaction.atomic():
        response = client.get(url)
        if response.status_code == 405:
            response = client.post(url)
        transaction.set_rollback(True)
    return seen(response) not in ("sign-in", 403, 404, 405)


def test_a_stranger_finds_nothing(
    team: dict[str, User], names: dict[str, Any], as_user: Callable[[User], Client]
) -> None:
    client = as_user(team["charlie"])
    before = picture()
    assert refusals(client, names, OF_A_TEAM, 404) == []
    assert picture() == before


def test_whoever_is_not_signed_in_is_asked_to(names: dict[str, Any]) -> None:
    before = picture()
    assert refusals(Client(), names, [page for page in PAGES if page.rule != "anyone"], "sign-in") == []
    assert picture() == before


def test_a_team_that_there_is_not_looks_like_one_that_is_closed(
    team: dict[str, User], names: dict[str, Any], as_user: Callable[[User], Client]
) -> None:
    nowhere = {**names, "organisation": "nobody"}
    assert refusals(as_user(team["charlie"]), nowhere, OF_A_TEAM, 404) == []


def test_a_page_for_looking_changes_nothing(
    team: dict[str, User], names: dict[str, Any], as_user: Callable[[User], Client]
) -> None:
    client, pages = as_user(team["victor"]), [page for page in OF_A_TEAM if page.action == Action.VIEW]
    before = picture()
    for page in pages:
        client.post(page.url(names)).close()
    assert picture() == before


THINGS = {"job", "session", "dataset", "run"}


def test_things_of_another_project_are_not_found_here(
    team: dict[str, User], names: dict[str, Any], as_user: Callable[[User], Client], organisation: Organisation
) -> None:
    other = Project.objects.create(organisation=organisation, slug="second", name="Second")
    theirs = furnish(other, team["mary"], number=7)
    mixed = {**names, **{thing: theirs[thing] for thing in THINGS}}
    client, pages = as_user(team["alice"]), [page for page in OF_A_TEAM if THINGS & {*page.parts}]
    assert [page.name for page in pages if opens(client, page.url(mixed))] == []
    assert [page.name for page in pages if not opens(client, page.url(theirs))] == []


def test_members_of_another_team_are_not_found_here(
    team: dict[str, User], names: dict[str, Any], as_user: Callable[[User], Client]
) -> None:
    theirs = {**names, "member": Membership.objects.get(user=team["charlie"]).pk}
    for name in ("member-change", "member-remove"):
        [page] = [page for page in PAGES if page.name == name]
        assert as_user(team["alice"]).post(page.url(theirs), {"role": "viewer"}).status_code == 404
    assert Membership.objects.get(user=team["charlie"]).role == Role.OWNER
