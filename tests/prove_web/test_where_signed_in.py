"""The list of browsers in which a person is signed in: what it says, and how to sign out the others."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.test import Client
from django.urls import reverse

from prove_web.accounts.models import Entry, Project, User
from prove_web.accounts.signing_in.sessions import describe_sign_in, device, note, noted

PASSWORD = "correct horse battery"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
SAFARI = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Version/17.5 Safari/604.1"


def browser(agent: str, address: str = "192.0.2.1", name: str = "bob") -> Client:
    """Return a client with this browser in which somebody signed in by password."""
    client = Client(headers={"User-Agent": agent}, REMOTE_ADDR=address)
    answer = client.post(reverse("sign-in"), {"username": name, "password": PASSWORD})
    assert answer.status_code == 302
    return client


def signed_in(client: Client, project: Project) -> bool:
    return bool(client.get(project.get_absolute_url()).status_code == 200)


def test_the_page_lists_every_browser_with_its_address(bob: User, project: Project) -> None:
    browser(SAFARI, "192.0.2.7")
    here = browser(FIREFOX)
    page = here.get(reverse("account-sessions")).content.decode()
    for words in ("Firefox on Linux", "Safari on an iPhone", "192.0.2.7", "192.0.2.1", "this browser"):
        assert words in page
    assert "2 browsers, including this one" in here.get(reverse("account")).content.decode()


def test_one_browser_or_all_others_are_signed_out_from_here(bob: User, project: Project) -> None:
    here, first, second = browser(FIREFOX), browser(SAFARI, "192.0.2.7"), browser(SAFARI, "192.0.2.8")
    one = UserSession.objects.get(ip="192.0.2.7")
    here.post(reverse("account-sessions"), {"session": str(one.pk)})
    assert [signed_in(each, project) for each in (here, first, second)] == [True, False, True]
    here.post(reverse("account-sessions"), {"others": "1"})
    assert [signed_in(each, project) for each in (here, first, second)] == [True, False, False]
    assert Entry.objects.filter(actor=bob, did="signed out elsewhere as").count() == 2


def test_nobody_signs_another_person_out(bob: User, alice: User, project: Project) -> None:
    mine, theirs = browser(FIREFOX), browser(SAFARI, name="alice")
    for session in UserSession.objects.filter(user=alice):
        mine.post(reverse("account-sessions"), {"session": str(session.pk)})
    mine.post(reverse("account-sessions"), {"others": "1"})
    assert signed_in(theirs, project)
    assert "Safari" not in mine.get(reverse("account-sessions")).content.decode()


@pytest.mark.parametrize("sent", [{}, {"session": "x"}, {"session": "-1"}, {"session": "9" * 30}, {"session": "0"}])
def test_nonsense_signs_nobody_out(sent: dict[str, str], bob: User, project: Project) -> None:
    here, other = browser(FIREFOX), browser(SAFARI)
    assert here.post(reverse("account-sessions"), sent).status_code == 302
    assert signed_in(other, project) and signed_in(here, project)


def test_a_new_password_signs_the_others_out(bob: User, project: Project) -> None:
    here, other = browser(FIREFOX), browser(SAFARI)
    form = {"old_password": PASSWORD, "new_password1": "staple battery horse", "new_password2": "staple battery horse"}
    assert here.post(reverse("password"), form).status_code == 302
    assert signed_in(here, project) and not signed_in(other, project)
    page = here.get(reverse("account-sessions")).content.decode()
    assert "Firefox" in page and "Safari" not in page and "this browser" in page


def test_a_password_that_the_operator_sets_ends_what_is_listed(bob: User, project: Project) -> None:
    other = browser(SAFARI)
    bob.set_password(PASSWORD + "!")
    bob.save()
    assert not signed_in(other, project)
    client = Client()
    client.force_login(bob)
    assert "Safari" not in client.get(reverse("account-sessions")).content.decode()


def test_signing_out_takes_the_browser_off_the_list(bob: User, project: Project) -> None:
    browser(SAFARI).post(reverse("sign-out"))
    assert not UserSession.objects.exists()


def test_an_older_session_is_listed_once_it_is_used(bob: User, project: Project) -> None:
    client = browser(SAFARI)
    UserSession.objects.all().delete()
    noted.at.clear()
    signed_in(client, project)
    assert UserSession.objects.get().user == bob


def test_over_a_socket_file_there_is_no_address(bob: User, rf: Any) -> None:
    client = browser(SAFARI, "")
    assert "0.0.0.0" not in client.get(reverse("account-sessions")).content.decode()


def test_owners_read_in_the_audit_log_who_signed_in_and_how(bob: User, project: Project) -> None:
    browser(FIREFOX, "192.0.2.9")
    entry = Entry.objects.get(did="signed in as")
    assert (entry.actor, entry.remote_addr, entry.additional_data) == (bob, "192.0.2.9", {"by": "password"})


def test_owners_read_there_of_too_many_wrong_passwords_and_of_no_single_one(
    bob: User, project: Project, settings: Any
) -> None:
    settings.AXES_FAILURE_LIMIT = 3
    deeds = []
    for _ in range(3):
        Client().post(reverse("sign-in"), {"username": "bob", "password": "wrong"})
        deeds.append([*Entry.objects.filter(content_type__model="user").values_list("did", flat=True)])
    assert deeds == [[], [], ["locked for a while"]]
    assert Entry.objects.get(content_type__model="user").actor is None


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([], "password"),
        ([{"method": "mfa", "type": "totp"}], "password and second factor"),
        ([{"method": "mfa", "type": "webauthn", "passwordless": True}], "passkey alone"),
        ([{"method": "socialaccount"}, {"method": "mfa"}], "another site and second factor"),
        ([{"method": "socialaccount"}], "another site"),
    ],
)
def test_how_somebody_signed_in_has_words(records: list[dict[str, Any]], expected: str) -> None:
    assert describe_sign_in(records) == expected


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        (FIREFOX, "Firefox on Linux"),
        (SAFARI, "Safari on an iPhone"),
        ("curl/8", "Unknown client"),
        ("", "Unknown device"),
    ],
)
def test_a_browser_is_named_in_words(agent: str, expected: str) -> None:
    assert device(agent) == expected


def test_noting_is_one_row_a_session(bob: User, rf: Any) -> None:
    request = rf.get("/")
    request.session = browser(FIREFOX).session
    for _ in range(2):
        note(request, bob)
    assert UserSession.objects.count() == 1
