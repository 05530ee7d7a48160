"""Renaming and deleting a team, and closing an account: what each requires, what goes and what stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client
from django.urls import reverse

from prove_web.accounts.account_deletion import close
from prove_web.accounts.models import Entry, Membership, Organisation, Project, User
from prove_web.accounts.roles import Role
from prove_web.api.tokens import authenticate_api_token, issue
from prove_web.review.models import Review
from prove_web.review.review_services import finish
from prove_web.sharing.soft_delete import delete

from .reviewed import given, queue_of

AsUser = Callable[[User], Client]
PASSWORD = "correct horse battery"
TEAM, CLOSE = "team-edit", "account-close"


def sent(client: Client, **form: str) -> Any:
    return client.post(reverse(TEAM, args=["acme"]), form)


def test_a_team_gets_another_name_and_keeps_its_address(as_user: AsUser, alice: User, project: Project) -> None:
    assert sent(as_user(alice), do="rename", name="Zenith").status_code == 302
    page = as_user(alice).get("/acme/").content.decode()
    assert "Members of Zenith" in page and Entry.objects.first().changes == {"name": ["Acme", "Zenith"]}
    assert sent(as_user(alice), do="rename", name=" ").status_code == 422


def test_a_team_is_deleted_once_nothing_is_left_in_it(as_user: AsUser, alice: User, project: Project) -> None:
    client = as_user(alice)
    assert "It has 1 project: delete it first." in sent(client, do="delete", typed="Acme").content.decode()
    made = delete(project, alice)
    assert "can still be restored" in sent(client, do="delete", typed="Acme").content.decode()
    made.delete()
    project.delete()
    assert sent(client, do="delete", typed="acme").status_code == 422
    assert sent(client).status_code == 422 and Organisation.objects.filter(slug="acme").exists()
    assert sent(client, do="delete", typed="Acme").status_code == 302
    assert not Organisation.objects.filter(slug="acme").exists() and client.get("/acme/").status_code == 404
    assert client.get(reverse("start")).status_code == 200


@pytest.fixture
def closer(alice: User, bob: User) -> Client:
    """A client of Bob, who has just entered his password again."""
    return sure(Client(), "bob")


def sure(client: Client, name: str) -> Client:
    """Sign in, enter the password again, and return the client."""
    client.post(reverse("sign-in"), {"username": name, "password": PASSWORD})
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    return client


def test_an_account_is_closed_after_the_password_and_the_name(closer: Client, bob: User, project: Project) -> None:
    assert closer.post(reverse(CLOSE), {"typed": "Bob"}).status_code == 422
    assert closer.post(reverse(CLOSE)).status_code == 422
    assert User.objects.filter(username="bob").exists()
    assert closer.post(reverse(CLOSE), {"typed": "bob"})["Location"] == reverse("sign-in")
    assert closer.get(project.get_absolute_url()).status_code == 302
    again = Client().post(reverse("sign-in"), {"username": "bob", "password": PASSWORD})
    assert again.status_code == 200 and not Membership.objects.filter(user=bob).exists()


def test_a_user_without_a_recent_sign_in_must_enter_the_password_first(as_user: AsUser, bob: User) -> None:
    answer = as_user(bob).post(reverse(CLOSE), {"typed": "bob"})
    assert answer["Location"].startswith(reverse("account_reauthenticate"))
    assert User.objects.filter(username="bob").exists()


def test_the_only_owner_hands_the_team_over_first(alice: User, bob: User, project: Project) -> None:
    client = sure(Client(), "alice")
    refused = client.post(reverse(CLOSE), {"typed": "alice"})
    assert refused.status_code == 422 and "Acme would have no owner" in refused.content.decode()
    Membership.objects.filter(user=bob).update(role=Role.OWNER)
    assert client.post(reverse(CLOSE), {"typed": "alice"}).status_code == 302


def test_what_a_former_member_said_stays_and_nobody_learns_who_it_was(
    as_user: AsUser, alice: User, mary: User, bob: User, project: Project
) -> None:
    item = queue_of(project, alice, reviewers=2).items.get(position=1)
    for each in (bob, mary):
        finish(item, each, given(item, each, "accept", comment=f"said by {each.pk}"))
    Authenticator.objects.create(user=bob, type=Authenticator.Type.TOTP, data={})
    _, token = issue(bob, project.organisation, "Loop", ["view"])
    for each in (bob, mary):
        close(each)
    rows = Review.objects.filter(item=item)
    assert {row.reviewer.get_full_name() for row in rows if row.reviewer} == {"A former member"}
    assert len({row.reviewer_id for row in rows}) == 2, "two people still said it"
    assert authenticate_api_token(token) is None and not Authenticator.objects.exists()
    for page in ("/acme/", reverse("queue", args=[*project.path, item.queue.number])):
        text = as_user(alice).get(page).content.decode()
        assert "bob@example.com" not in text and ">bob<" not in text
    assert "closed the account of" in as_user(alice).get("/acme/audit/").content.decode()


def test_the_name_and_address_of_a_closed_account_are_free_again(bob: User, alice: User) -> None:
    close(bob)
    User.objects.create_user("bob", "bob@example.com", PASSWORD)


def test_a_person_takes_along_what_the_site_knows_of_them_and_no_secret(
    as_user: AsUser, alice: User, bob: User, project: Project
) -> None:
    item = queue_of(project, alice).items.get(position=1)
    finish(item, bob, given(item, bob, "accept", comment="said by bob"))
    made, token = issue(bob, project.organisation, "Loop", ["view"])
    answer = as_user(bob).get(reverse("account-data"))
    data = answer.json()
    assert answer["Content-Disposition"].startswith("attachment") and data["account"]["email"] == "bob@example.com"
    assert [each["organisation__name"] for each in data["teams"]] == ["Acme"]
    assert [each["comment"] for each in data["reviews"]] == ["said by bob"]
    for secret in (token, made.hash, bob.password, "alice@example.com"):
        assert secret not in answer.content.decode()
    Membership.objects.filter(user=bob).delete()
    assert as_user(bob).get(reverse("account-data")).json()["reviews"] == []
