"""A team can require a second factor: who may set that, what a member without one may not open, and the way back in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from prove_web.accounts.models import Entry, Organisation, Project, User
from prove_web.api.tokens import issue as issue_api_token
from prove_web.live.socket_permissions import get_permitted_users
from prove_web.review.models import Notification
from prove_web.review.notifications import notify
from prove_web.servers import tokens
from prove_web.servers.models import LiveSession

AsUser = Callable[[User], Client]
PAGE = "second-factor-require"


def secure(user: User, kind: str = Authenticator.Type.TOTP) -> None:
    Authenticator.objects.create(user=user, type=kind, data={})


def set_requirement(client: Client, days: str) -> str:
    return client.post(reverse(PAGE, args=["acme"]), {"from": days}, follow=True).content.decode()


@pytest.fixture
def required(organisation: Organisation) -> Organisation:
    organisation.second_factor_from = timezone.now() - timedelta(seconds=1)
    organisation.save()
    return organisation


def test_an_owner_without_one_cannot_ask_for_it(as_user: AsUser, alice: User, project: Project) -> None:
    assert "Set up a second factor yourself first" in set_requirement(as_user(alice), "0")
    assert as_user(alice).get(project.get_absolute_url()).status_code == 200


def test_an_owner_asks_for_it_at_once_and_it_is_in_the_audit_log(
    as_user: AsUser, alice: User, bob: User, project: Project
) -> None:
    secure(alice)
    client, theirs = as_user(alice), as_user(bob)
    assert "required immediately. 1 member without one was notified." in set_requirement(client, "0")
    assert client.get(project.get_absolute_url()).status_code == 200
    page = theirs.get(project.get_absolute_url())
    assert page.status_code == 403 and reverse("mfa_activate_totp") in page.content.decode()
    secure(bob)
    assert theirs.get(project.get_absolute_url()).status_code == 200
    assert "no longer required" in set_requirement(client, "off")
    deeds = [*Entry.objects.filter(actor=alice).values_list("did", flat=True)]
    assert deeds == ["asks for no second factor in", "asked for a second factor in"]


def test_before_the_day_members_get_a_reminder_and_keep_their_access(
    as_user: AsUser, alice: User, bob: User, project: Project
) -> None:
    secure(alice)
    set_requirement(as_user(alice), "7")
    page = as_user(bob).get(project.get_absolute_url())
    assert page.status_code == 200 and "requires a second factor, and you have none" in page.content.decode()
    assert "and you have none" not in as_user(alice).get(project.get_absolute_url()).content.decode()
    assert [(each.user, each.url) for each in Notification.objects.all()] == [(bob, reverse("account"))]


@pytest.mark.parametrize("days", ["", "-1", "8", "x"])
def test_nonsense_changes_nothing(days: str, as_user: AsUser, alice: User, organisation: Organisation) -> None:
    secure(alice)
    assert "Nothing was changed" in set_requirement(as_user(alice), days)
    organisation.refresh_from_db()
    assert organisation.second_factor_from is None


def test_who_has_none_learns_nothing_of_the_team(
    as_user: AsUser, bob: User, project: Project, required: Organisation
) -> None:
    notify([bob], project, "Something happened", project.get_absolute_url())
    client = as_user(bob)
    for page in ("start", "notifications", "account"):
        text = client.get(reverse(page)).content.decode()
        assert project.name not in text and "Something happened" not in text
    assert client.get(reverse("start")).status_code == 200
    for page in (required.get_absolute_url(), reverse("api-tokens", args=["acme"]), project.get_absolute_url()):
        assert [client.get(page).status_code, client.post(page).status_code] == [403, 403]
    assert get_permitted_users(("project", str(project.pk)), [bob.pk]) == set()


def test_recovery_codes_alone_are_no_second_factor(
    as_user: AsUser, bob: User, project: Project, required: Organisation
) -> None:
    secure(bob, Authenticator.Type.RECOVERY_CODES)
    assert as_user(bob).get(project.get_absolute_url()).status_code == 403
    secure(bob, Authenticator.Type.WEBAUTHN)
    assert as_user(bob).get(project.get_absolute_url()).status_code == 200
    assert get_permitted_users(("project", str(project.pk)), [bob.pk]) == {bob.pk}


def test_a_program_learns_why_its_token_is_refused(bob: User, project: Project, required: Organisation) -> None:
    _, text = issue_api_token(bob, required, "Loop", ["view"])
    headers = {"Authorization": f"Bearer {text}"}
    answer = Client().get("/api/v1/acme/demo/runs", headers=headers)
    assert answer.status_code == 403
    assert "requires a second factor" in answer.json()["error"] and "passkey" in answer.json()["do"]
    assert Client().get("/api/v1/projects", headers=headers).json() == []
    secure(bob)
    assert Client().get("/api/v1/acme/demo/runs", headers=headers).status_code == 200
    assert len(Client().get("/api/v1/projects", headers=headers).json()) == 1


def test_a_client_of_a_session_is_refused_as_long(bob: User, project: Project, required: Organisation) -> None:
    session = LiveSession.objects.create(project=project, servers=["banking"], seed=1, fingerprint="", created_by=bob)
    _, text = tokens.issue(session, bob, "Desk", True)
    assert tokens.authenticate_session_token(text) is None
    secure(bob)
    assert tokens.authenticate_session_token(text) is not None


def test_the_requirement_of_one_team_changes_no_other_team(
    as_user: AsUser, charlie: User, project: Project, required: Organisation
) -> None:
    assert as_user(charlie).get("/other/demo/").status_code == 200
    assert as_user(charlie).get(project.get_absolute_url()).status_code == 404, "a stranger is told nothing"
