"""API tokens: each appears once, is stored as a hash, and never allows more than its user may do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from prove_web.accounts.models import Membership, Organisation, Project, User
from prove_web.accounts.roles import Action, Role
from prove_web.api.models import ApiToken
from prove_web.api.tokens import issue, revoke
from prove_web.servers.models import SavedCall

ALL = [action.value for action in Action]


def bearer(user: User, organisation: Organisation, scopes: list[str] = ALL, project: Project | None = None) -> Client:
    _, text = issue(user, organisation, "Mine", scopes, project)
    return Client(headers={"Authorization": f"Bearer {text}"})


def test_a_token_appears_once_and_is_stored_as_a_hash(bob: User, as_user: Callable[[User], Client]) -> None:
    client = as_user(bob)
    page = client.post("/acme/members/tokens/new/", {"name": "Nightly", "scopes": ["view", "annotate"], "days": 30})
    made = ApiToken.objects.get()
    text = page.context["text"]
    assert page.status_code == 200 and text in page.content.decode() and text.startswith("prove_")
    assert made.hash not in text and text not in str(ApiToken.objects.values())
    assert text not in client.get("/acme/members/tokens/").content.decode()
    assert made.scopes == ["view", "annotate"] and made.expires_at is not None
    response = Client(headers={"Authorization": f"Bearer {text}"}).get("/api/v1/me")
    assert response.json()["username"] == "bob" and response.json()["scopes"] == ["view", "annotate"]


def test_nobody_makes_a_token_that_may_more_than_they_may(victor: User, as_user: Callable[[User], Client]) -> None:
    page = as_user(victor).post("/acme/members/tokens/new/", {"name": "More", "scopes": ["launch"], "days": 30})
    assert page.status_code == 422 and not ApiToken.objects.exists()
    assert "More" in page.content.decode()  # the form keeps the input


def test_a_token_may_what_its_persons_role_covers_at_that_moment(
    mary: User, organisation: Organisation, project: Project
) -> None:
    client, stop = bearer(mary, organisation), "/api/v1/acme/demo/runs/1/stop"
    assert client.post(stop, "{}", "application/json").status_code == 404  # no such run, but she might
    Membership.objects.filter(user=mary).update(role=Role.VIEWER)
    assert client.post(stop, "{}", "application/json").status_code == 403
    Membership.objects.filter(user=mary).delete()
    assert client.get("/api/v1/acme/demo/runs").status_code == 401


def test_a_token_does_not_do_what_it_has_no_scope_for(mary: User, organisation: Organisation, project: Project) -> None:
    answer = bearer(mary, organisation, ["view"]).post("/api/v1/acme/demo/runs", "{}", "application/json")
    assert answer.status_code == 403 and "launch" in answer.json()["error"]


def test_a_token_of_one_project_opens_no_other(mary: User, organisation: Organisation, project: Project) -> None:
    Project.objects.create(organisation=organisation, slug="second", name="Second")
    client = bearer(mary, organisation, project=project)
    assert client.get("/api/v1/acme/demo/runs").status_code == 200
    assert client.get("/api/v1/acme/second/runs").status_code == 404
    assert [each["slug"] for each in client.get("/api/v1/projects").json()] == ["demo"]


def test_a_token_of_one_project_does_not_reach_the_calls_that_the_team_saved_from_all(
    mary: User, organisation: Organisation, project: Project
) -> None:
    saved = SavedCall.objects.create(organisation=organisation, name="Other", tool="list_accounts", arguments={})
    alone, unrestricted = bearer(mary, organisation, project=project), bearer(mary, organisation)
    calls, one = "/api/v1/acme/demo/saved-calls", f"/api/v1/acme/demo/saved-calls/{saved.pk}"
    assert alone.get(calls).status_code == alone.delete(one).status_code == 403
    assert alone.post(f"{one}/rename", {"name": "Mine"}, "application/json").status_code == 403
    assert [each["name"] for each in unrestricted.get(calls).json()["items"]] == ["Other"]


def test_a_token_of_one_team_opens_no_other_of_the_same_person(mary: User, charlie: User, project: Project) -> None:
    theirs = Organisation.objects.get(slug="other")
    Membership.objects.create(organisation=theirs, user=mary, role=Role.OWNER)
    client = bearer(mary, theirs)
    assert client.get("/api/v1/other/demo/runs").status_code == 200
    assert client.get("/api/v1/acme/demo/runs").status_code == 404


@pytest.mark.parametrize("end", ["revoked", "expired", "left", "mistyped"])
def test_a_token_that_ended_lets_nobody_in(mary: User, organisation: Organisation, project: Project, end: str) -> None:
    made, text = issue(mary, organisation, "Mine", ALL)
    if end == "revoked":
        revoke(made)
    elif end == "expired":
        ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif end == "left":
        User.objects.filter(pk=mary.pk).update(is_active=False)
    client = Client(headers={"Authorization": f"Bearer {text}{'x' if end == 'mistyped' else ''}"})
    client.force_login(mary) if end != "left" else None  # a bad token is not made good by a session
    answer = client.get("/api/v1/acme/demo/runs")
    assert answer.status_code == 401 and answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert {*answer.json()} == {"error", "where", "do"}


def test_ones_own_tokens_are_listed_and_an_owner_sees_and_revokes_all(
    alice: User, bob: User, victor: User, organisation: Organisation, as_user: Callable[[User], Client]
) -> None:
    made, _ = issue(bob, organisation, "Bob's loop", ["view"])
    assert "Bob&#x27;s loop" not in as_user(victor).get("/acme/members/tokens/").content.decode()
    assert "Bob&#x27;s loop" in as_user(bob).get("/acme/members/tokens/").content.decode()
    where = f"/acme/members/tokens/{made.pk}/revoke/"
    as_user(victor).post(where)
    assert ApiToken.objects.get().revoked_at is None
    as_user(alice).post(where)
    assert ApiToken.objects.get().revoked_at is not None


def test_using_a_token_is_noted(bob: User, organisation: Organisation) -> None:
    bearer(bob, organisation).get("/api/v1/me")
    assert ApiToken.objects.get().used_at is not None


def test_a_session_writes_only_with_its_csrf_token(mary: User, project: Project) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(mary)
    assert client.get("/api/v1/acme/demo/runs").status_code == 200
    answer = client.post("/api/v1/acme/demo/runs/1/stop", "{}", "application/json")
    assert answer.status_code == 403 and answer.json()["where"] == "X-CSRFToken"
    client.get("/acme/demo/")
    token = client.cookies["csrftoken"].value
    given = client.post("/api/v1/acme/demo/runs/1/stop", "{}", "application/json", headers={"X-CSRFToken": token})
    assert given.status_code == 404  # there is no such run


def test_too_many_requests_get_the_time_to_wait(bob: User, organisation: Organisation, settings: object) -> None:
    settings.API_RATE = 2
    client = bearer(bob, organisation)
    answers = [client.get("/api/v1/me") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert 0 < int(answers[-1].headers["Retry-After"]) <= 60
    assert bearer(bob, organisation).get("/api/v1/me").status_code == 200  # each token has its own


def test_what_is_not_there_is_said_as_the_api_says_things(bob: User, as_user: Callable[[User], Client]) -> None:
    client = as_user(bob)
    for method, address, status in (
        ("get", "/api/v1/nothing/at/all/", 404),
        ("get", "/api/v1/acme/nothing/runs", 404),
        ("put", "/api/v1/me", 405),
    ):
        answer = getattr(client, method)(address)
        assert answer.status_code == status and {*answer.json()} == {"error", "where", "do"}
    assert Client().get("/api/v1/me").status_code == 401
