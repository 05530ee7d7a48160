"""The second factor: its setup, the question for a code, the limit on wrong codes, no way around it, and recovery."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from prove_web.accounts.models import Project, User

from .authenticator import code, wrong

AsUser = Callable[[User], Client]
PASSWORD = "correct horse battery"


def confirmed(client: Client, page: str) -> Any:
    """Return a page that first requires reauthentication."""
    redirect = client.get(page)
    assert redirect["Location"].startswith(reverse("account_reauthenticate"))
    return client.post(redirect["Location"], {"password": PASSWORD, "next": page}, follow=True)


@pytest.fixture
def secured(as_user: AsUser, alice: User) -> tuple[str, list[str]]:
    """Give alice a second factor on the page; return its secret and her recovery codes."""
    client = as_user(alice)
    page = confirmed(client, reverse("mfa_activate_totp")).content.decode()
    secret = re.search(r'id="totp-secret">([A-Z2-7]+)<', page)
    assert secret and "data:image/svg+xml;base64," in page
    text = client.post(reverse("mfa_activate_totp"), {"code": code(secret[1])}, follow=True).content.decode()
    codes = re.search(r'id="recovery-codes"[^>]*>([^<]+)<', text)
    assert codes
    Authenticator.objects.update(last_used_at=None)
    return secret[1], html.unescape(codes[1]).split()


def first_step(client: Client, **rest: str) -> Any:
    return client.post(reverse("sign-in"), {"username": "alice", "password": PASSWORD, **rest})


def signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def test_after_the_password_a_code_is_required_and_then_the_wanted_page_opens(
    secured: tuple[str, list[str]], project: Project
) -> None:
    client = Client()
    assert first_step(client, next=project.get_absolute_url())["Location"] == reverse("mfa_authenticate")
    assert not signed_in(client) and client.get(project.get_absolute_url()).status_code == 302
    refused = client.post(reverse("mfa_authenticate"), {"code": wrong(secured[0])})
    assert refused.status_code == 200 and "Wrong or expired code" in refused.content.decode()
    assert not signed_in(client)
    assert (
        client.post(reverse("mfa_authenticate"), {"code": code(secured[0])})["Location"] == project.get_absolute_url()
    )
    assert client.get(project.get_absolute_url()).status_code == 200


def test_a_code_signs_in_once(secured: tuple[str, list[str]]) -> None:
    secret, given = secured[0], code(secured[0])
    for works in (True, False):
        client = Client()
        first_step(client)
        client.post(reverse("mfa_authenticate"), {"code": given})
        assert signed_in(client) is works, secret


def test_a_recovery_code_signs_in_once_without_the_app(secured: tuple[str, list[str]]) -> None:
    assert len({*secured[1]}) == 10
    for works in (True, False):
        client = Client()
        first_step(client)
        client.post(reverse("mfa_authenticate"), {"code": secured[1][0]})
        assert signed_in(client) is works


def test_the_code_alone_opens_nothing(secured: tuple[str, list[str]], db: None) -> None:
    client = Client()
    answer = client.post(reverse("mfa_authenticate"), {"code": code(secured[0])})
    assert answer["Location"] == reverse("sign-in") and not signed_in(client)


def test_wrong_codes_are_counted_with_wrong_passwords_and_lock_the_account(
    secured: tuple[str, list[str]], settings: Any
) -> None:
    settings.AXES_FAILURE_LIMIT = 3
    client = Client()
    client.post(reverse("sign-in"), {"username": "alice", "password": "wrong"})
    first_step(client)
    answers = [client.post(reverse("mfa_authenticate"), {"code": wrong(secured[0])}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 429]
    locked = client.post(reverse("mfa_authenticate"), {"code": code(secured[0])})
    assert "Wait 15 minutes" in locked.content.decode() and not signed_in(client)
    assert first_step(Client()).status_code == 429
    settings.AXES_COOLOFF_TIME = timedelta(0)
    assert client.post(reverse("mfa_authenticate"), {"code": code(secured[0])}).status_code == 302
    assert signed_in(client)


@pytest.mark.parametrize(
    "page", ["mfa_activate_totp", "mfa_deactivate_totp", "mfa_view_recovery_codes", "mfa_generate_recovery_codes"]
)
def test_nothing_of_it_is_visible_or_changed_before_reauthentication(
    page: str, secured: tuple[str, list[str]], as_user: AsUser, alice: User
) -> None:
    client = as_user(alice)
    viewed, sent = client.get(reverse(page)), client.post(reverse(page))
    assert viewed.status_code == 302 and "/account/" in viewed["Location"]
    assert sent.status_code in (302, 405), "recovery codes are looked at, and nothing is sent there"
    assert not any(each in answer.content.decode() for answer in (viewed, sent) for each in secured[1])
    assert Authenticator.objects.filter(user=alice, type="totp").exists()


def test_a_wrong_password_does_not_confirm_and_is_counted(as_user: AsUser, alice: User, settings: Any) -> None:
    settings.AXES_FAILURE_LIMIT = 2
    client = as_user(alice)
    where = reverse("account_reauthenticate")
    answers = [client.post(where, {"password": "wrong"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 429]


def test_it_is_switched_off_again_and_the_codes_are_void(
    secured: tuple[str, list[str]], as_user: AsUser, alice: User, project: Project
) -> None:
    client = as_user(alice)
    confirmed(client, reverse("mfa_deactivate_totp"))
    page = client.post(reverse("mfa_deactivate_totp"), follow=True).content.decode()
    assert "Off: your password alone signs you in." in page and not Authenticator.objects.exists()
    assert first_step(Client())["Location"] == "/"


def test_new_recovery_codes_make_the_old_ones_void(
    secured: tuple[str, list[str]], as_user: AsUser, alice: User
) -> None:
    client = as_user(alice)
    confirmed(client, reverse("mfa_generate_recovery_codes"))
    text = client.post(reverse("mfa_generate_recovery_codes"), follow=True).content.decode()
    assert not any(each in text for each in secured[1])
    other = Client()
    first_step(other)
    other.post(reverse("mfa_authenticate"), {"code": secured[1][0]})
    assert not signed_in(other)
    assert len(client.get(reverse("mfa_download_recovery_codes")).content.decode().split()) >= 10


def test_a_passkey_that_is_none_is_refused_and_the_pages_of_passkeys_ask_who_it_is(
    as_user: AsUser, alice: User
) -> None:
    client, page = as_user(alice), reverse("mfa_add_webauthn")
    text = confirmed(client, page).content.decode()
    assert '"challenge"' in text and 'type="application/json"' in text
    for made_up in ("", "{}", "[]", "7", '"x"', "not JSON", '{"id": 1}', '{"id": "x", "response": {}, "type": "x"}'):
        answer = client.post(page, {"name": "Mine", "credential": made_up})
        assert answer.status_code == 200 and "This passkey is not valid here" in answer.content.decode(), made_up
    assert not Authenticator.objects.exists()


def test_ones_own_passkey_is_taken_away_and_nobody_elses(as_user: AsUser, alice: User, bob: User) -> None:
    mine, theirs = (
        Authenticator.objects.create(user=user, type="webauthn", data={"name": "Laptop", "credential": {}})
        for user in (alice, bob)
    )
    client = as_user(alice)
    assert "Laptop" in confirmed(client, reverse("mfa_remove_webauthn", args=[mine.pk])).content.decode()
    for key, status in ((theirs, 404), (mine, 302)):
        assert client.post(reverse("mfa_remove_webauthn", args=[key.pk])).status_code == status
    assert list(Authenticator.objects.all()) == [theirs]
    assert "Off: your password alone signs you in." in client.get(reverse("account")).content.decode()


def test_ones_account_says_how_one_signs_in(secured: tuple[str, list[str]], as_user: AsUser, alice: User) -> None:
    page = as_user(alice).get(reverse("account")).content.decode()
    assert "On: authenticator app." in page and "10 unused" in page


def test_the_operator_lets_in_a_person_who_lost_everything(secured: tuple[str, list[str]]) -> None:
    said = StringIO()
    call_command("forget_second_factor", "Alice@example.com", stdout=said)
    assert "the password alone signs in" in said.getvalue()
    assert first_step(Client())["Location"] == "/"
    with pytest.raises(CommandError, match="No account “"):
        call_command("forget_second_factor", "nobody")
