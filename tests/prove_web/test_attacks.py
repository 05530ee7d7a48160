"""Attacks on signing in: forged forms, `next` that leads away, fixed sessions, guesses of user names."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import URLResolver, get_resolver, reverse

from prove_web.accounts import invitations
from prove_web.accounts.invitations import InvitationRequest
from prove_web.accounts.models import Invitation, Organisation, Project, User
from prove_web.api.api import NAMESPACE

from .furnished import furnish

AsUser = Callable[[User], Client]
PASSWORD = "correct horse battery"
MACHINES = re.compile("worker-|health|ready|metrics|shared")  # these require a token or change nothing
ELSEWHERE = (
    *("https://evil.example/", "//evil.example", "/\\evil.example", "\\\\evil.example", "https:evil.example"),
    *("http:///evil.example", "javascript:alert(1)", "/\t/evil.example", "https://testserver@evil.example/"),
)


def addresses(patterns: list[Any], parts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name and the address of every page, with a value in each part of the address."""
    for each in patterns:
        if isinstance(each, URLResolver):
            if each.namespace != NAMESPACE:
                yield from addresses(each.url_patterns, parts)
        elif not MACHINES.match(each.name):
            yield each.name, reverse(each.name, kwargs={name: parts[name] for name in names(each.name)})


def names(page: str) -> list[str]:
    return PARTS[page]


def gather(patterns: list[Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, list[str]]]:
    for each in patterns:
        parts = (*above, *each.pattern.converters)
        if isinstance(each, URLResolver):
            yield from gather(each.url_patterns, parts)
        else:
            yield each.name, [*parts]


PARTS = dict(gather(get_resolver().url_patterns))


def test_no_form_of_the_site_is_taken_from_another_page(
    alice: User, project: Project, settings: LazySettings, tmp_path: Path
) -> None:
    settings.PROVE_DATA = tmp_path
    furnished = furnish(project, alice)
    forged = Client(enforce_csrf_checks=True)
    forged.force_login(alice)
    taken = [
        page
        for page, url in addresses(get_resolver().url_patterns, furnished)
        if forged.post(url, {"next": "/"}).status_code not in (403, 405)
    ]
    assert taken == []


@pytest.mark.parametrize("where", ELSEWHERE)
def test_signing_in_leads_to_no_other_site(where: str, alice: User, as_user: AsUser) -> None:
    form = {"username": "alice", "password": PASSWORD, "next": where}
    assert Client().post(reverse("sign-in"), form)["Location"] == "/"
    sure = as_user(alice).post(reverse("account_reauthenticate"), {"password": PASSWORD, "next": where})
    assert sure.status_code == 302 and sure["Location"].startswith("/") and "evil" not in sure["Location"]
    key = Client().post(reverse("mfa_login_webauthn"), {"credential": "{}", "next": where})
    assert key["Location"] == reverse("sign-in")


def test_a_session_that_was_fixed_before_is_another_after_signing_in(alice: User) -> None:
    client = Client()
    client.get(reverse("mfa_login_webauthn"), headers={"Accept": "application/json"})
    before = client.session.session_key
    client.post(reverse("sign-in"), {"username": "alice", "password": PASSWORD})
    assert before and client.session.session_key != before
    assert not client.session.exists(before)


def test_the_door_says_the_same_of_names_that_are_there_and_names_that_are_not(alice: User) -> None:
    answers = []
    for name in ("alice", "nobody", "alice@example.com", "nobody@example.com"):
        answer = Client().post(reverse("sign-in"), {"username": name, "password": "wrong"})
        page = re.sub(r'nonce="[^"]*"|name="csrfmiddlewaretoken" value="[^"]*"', "", answer.content.decode())
        answers.append((answer.status_code, page.replace(name, "NAME")))
    assert len({*answers}) == 1


def test_an_account_that_is_closed_is_one_that_never_was(alice: User) -> None:
    alice.is_active = False
    alice.save()
    answer = Client().post(reverse("sign-in"), {"username": "alice", "password": PASSWORD})
    assert "Wrong username or password" in answer.content.decode()


def test_a_passkey_of_nobody_and_nonsense_are_refused_alike(alice: User) -> None:
    client = Client()
    options = client.get(reverse("mfa_login_webauthn"), headers={"Accept": "application/json"}).json()
    assert options["request_options"]["publicKey"]["userVerification"] == "required"
    handle = {"response": {"userHandle": "MQ"}, "id": "x", "rawId": "eA", "type": "public-key"}
    for sent in ("", "{}", "[]", "null", "x", json.dumps(handle), json.dumps({"response": {"userHandle": None}})):
        answer = client.post(reverse("mfa_login_webauthn"), {"credential": sent, "next": "/acme/"}, follow=True)
        assert "This passkey is not registered here." in answer.content.decode()
        assert answer.redirect_chain == [(f"{reverse('sign-in')}?next=%2Facme%2F", 302)]
    assert "_auth_user_id" not in client.session


def test_a_link_that_is_made_names_no_host_that_somebody_sent(
    as_user: AsUser, alice: User, organisation: Organisation, settings: LazySettings
) -> None:
    settings.ALLOWED_HOSTS = ["testserver"]
    form = {"role": "viewer", "days": "7", "most": "1"}
    for headers in ({"Host": "evil.example"}, {"Host": "testserver", "X-Forwarded-Host": "evil.example"}):
        answer = as_user(alice).post(reverse("invitation-new", args=["acme"]), form, headers=headers)
        assert "evil.example" not in answer.content.decode()
    assert Invitation.objects.count() == 1, "the first of them was refused"


def test_the_text_of_an_invitation_reaches_no_other_site_and_no_log(
    alice: User, organisation: Organisation, caplog: pytest.LogCaptureFixture
) -> None:
    _, text = invitations.invite(organisation, alice, InvitationRequest(role="viewer"))
    with caplog.at_level(logging.DEBUG):
        answer = Client().get(reverse("join", args=[text]))
        Client().post(reverse("join", args=[text]), {"email": "x"})
    assert answer["Referrer-Policy"] == "same-origin" and "no-store" in answer["Cache-Control"]
    assert text not in caplog.text
    assert not [record for record in caplog.records if text in str(record.__dict__.get("path", ""))]
