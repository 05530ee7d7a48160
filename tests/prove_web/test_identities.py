"""Sign-in by another site: which identity opens which account, and which opens none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP
from allauth.socialaccount.models import SocialAccount
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from django.urls import reverse

from prove_web.accounts import invitations
from prove_web.accounts.invitations import InvitationRequest
from prove_web.accounts.models import Membership, Organisation, Project, User
from prove_web.accounts.roles import Role
from prove_web.accounts.signing_in.oidc import ID, build_provider_settings, providers

from .identities import CLIENT, SECRET, Identities, identities

AsUser = Callable[[User], Client]
ALICE = {"sub": "a1", "email": "Alice@example.com", "email_verified": True, "name": "Alice Adams"}
NINA = {"sub": "n1", "email": "nina@example.com", "email_verified": True, "name": "Nina Novak"}
LOGIN = f"/sign-in/by/{ID}/"


@pytest.fixture(scope="module")
def one_site() -> Iterator[Identities]:
    with identities() as site:
        yield site


@pytest.fixture
def there(one_site: Identities, settings: Any) -> Identities:
    """Configure sign-in by the other site; nobody is signed in there yet."""
    one_site.person, one_site.says = {}, {}
    settings.SOCIALACCOUNT_PROVIDERS = build_provider_settings(one_site.url, CLIENT, SECRET, "Example")
    return one_site


def sign_in(client: Client, begin: str = LOGIN) -> Any:
    """Follow the redirects there and back as a browser does; return the last response of this site."""
    away = client.get(begin)
    assert away.status_code == 302, away.content
    back = urlsplit(httpx2.get(away["Location"]).headers["location"])
    return client.get(f"{back.path}?{back.query}")


def whose(client: Client) -> str:
    """Return the name of the signed-in user, or an empty text."""
    number = client.session.get("_auth_user_id")
    return User.objects.get(pk=number).username if number else ""


def test_a_verified_address_opens_the_account_that_has_it(there: Identities, alice: User, project: Project) -> None:
    client = Client()
    assert "Continue with Example" in client.get(reverse("sign-in")).content.decode()
    there.person = ALICE
    answer = sign_in(client, f"{LOGIN}?next=/acme/")
    assert answer["Location"] == "/acme/" and whose(client) == "alice"
    again = Client()
    there.person = {**ALICE, "email": "moved@example.com", "email_verified": False}
    sign_in(again)
    assert whose(again) == "alice", "from then on it is the identity that counts, and not the address"
    assert User.objects.count() == 1


def test_a_verified_identity_ends_the_sessions_and_the_password_of_the_account_with_its_address(
    there: Identities, as_user: AsUser, alice: User, project: Project
) -> None:
    before = as_user(alice)
    there.person = ALICE
    sign_in(Client())
    alice.refresh_from_db()
    assert not alice.has_usable_password()
    assert before.get(project.get_absolute_url()).status_code == 302


@pytest.mark.parametrize(
    ("person", "says", "words"),
    [
        ({**ALICE, "email_verified": False}, {}, "E-mail address not verified"),
        ({**ALICE, "email_verified": "false"}, {}, "E-mail address not verified"),
        ({"sub": "a1", "name": "Alice"}, {}, "E-mail address not verified"),
        (NINA, {}, "No account found"),
        (ALICE, {"sub": "another"}, "Invalid response"),
    ],
)
def test_an_unknown_identity_opens_nothing_and_creates_no_user(
    person: dict[str, Any], says: dict[str, Any], words: str, there: Identities, alice: User
) -> None:
    client = Client()
    there.person, there.says = person, says
    answer = sign_in(client)
    assert answer.status_code == 403 and words in answer.content.decode()
    assert whose(client) == "" and User.objects.count() == 1 and not SocialAccount.objects.exists()


def test_who_follows_an_invitation_gets_an_account_and_the_role_that_was_invited(
    there: Identities, alice: User, organisation: Organisation, project: Project
) -> None:
    _, text = invitations.invite(organisation, alice, InvitationRequest(role="annotator"))
    client, link = Client(), reverse("join", args=[text])
    assert "Continue with Example" in client.get(link).content.decode()
    there.person = NINA
    answer = sign_in(client, f"{LOGIN}?next={link}")
    user = User.objects.get(email=NINA["email"])
    assert (whose(client), user.get_full_name()) == ("nina", "Nina Novak") and not user.has_usable_password()
    assert Membership.objects.get(user=user).role == Role.ANNOTATOR
    assert client.get(answer["Location"], follow=True).status_code == 200
    there.person = {**NINA, "sub": "n2", "email": "second@example.com"}
    other = Client()
    assert other.get(link).status_code == 410
    assert sign_in(other).status_code == 403 and User.objects.count() == 2


def test_an_invitation_for_another_address_lets_nobody_in(
    there: Identities, alice: User, organisation: Organisation
) -> None:
    _, text = invitations.invite(organisation, alice, InvitationRequest(role="viewer", email="someone@example.com"))
    client = Client()
    client.get(reverse("join", args=[text]))
    there.person = NINA
    assert sign_in(client).status_code == 403 and User.objects.count() == 1


def test_the_second_factor_is_required_here_too(there: Identities, alice: User) -> None:
    TOTP.activate(alice, "JBSWY3DPEHPK3PXP")
    there.person, client = ALICE, Client()
    assert sign_in(client)["Location"] == reverse("mfa_authenticate") and whose(client) == ""
    assert Authenticator.objects.filter(user=alice).exists()


def test_one_connects_an_identity_to_ones_account_and_keeps_the_password(
    there: Identities, as_user: AsUser, alice: User
) -> None:
    client, there.person = as_user(alice), {**NINA, "email_verified": False}
    begin = f"{LOGIN}?process=connect"
    confirm = sign_in(client, begin)
    assert confirm["Location"] == reverse("account_reauthenticate")
    client.post(confirm["Location"], {"password": "correct horse battery"})
    assert SocialAccount.objects.get().user == alice and alice.has_usable_password()
    assert "Disconnect" in client.get(reverse("account")).content.decode()
    other = Client()
    sign_in(other)
    assert whose(other) == "alice"


@pytest.mark.parametrize("where", ["cross-site", "same-site"])
def test_a_page_of_others_connects_no_identity(there: Identities, as_user: AsUser, alice: User, where: str) -> None:
    client, there.person = as_user(alice), NINA
    client.post(reverse("account_reauthenticate"), {"password": "correct horse battery"})
    answer = client.get(f"{LOGIN}?process=connect", headers={"Sec-Fetch-Site": where})
    assert answer["Location"] == reverse("account") and not SocialAccount.objects.exists()
    assert "came from another page" in client.get(reverse("account")).content.decode()


def test_the_last_way_to_sign_in_stays(there: Identities, as_user: AsUser, alice: User, bob: User) -> None:
    there.person, client = ALICE, Client()
    sign_in(client)
    number = {"identity": str(SocialAccount.objects.get().pk)}
    assert as_user(bob).post(reverse("identity-remove"), number).status_code == 404
    where = reverse("identity-remove")
    assert "Set a password first" in client.post(where, number, follow=True).content.decode()
    form = {"new_password1": "staple battery horse", "new_password2": "staple battery horse"}
    assert client.post(reverse("password"), form).status_code == 302
    assert "can no longer sign you in" in client.post(where, number, follow=True).content.decode()
    assert not SocialAccount.objects.exists()


def test_a_way_back_that_nobody_began_leads_nowhere(there: Identities, alice: User) -> None:
    there.person = ALICE
    away = Client().get(LOGIN)
    back = urlsplit(httpx2.get(away["Location"]).headers["location"])
    client = Client()
    answer = client.get(f"{back.path}?{back.query}")
    assert answer.status_code == 401 and "was started in another browser" in answer.content.decode()
    assert whose(client) == ""


def test_changing_ones_mind_there_leads_back_here(there: Identities, db: None) -> None:
    page = Client().get(sign_in(client := Client())["Location"], follow=True)
    assert page.status_code == 200 and whose(client) == ""


def test_a_site_that_does_not_answer_is_reported(settings: Any, db: None) -> None:
    settings.SOCIALACCOUNT_PROVIDERS = build_provider_settings("http://127.0.0.1:1", CLIENT, SECRET, "Example")
    answer = Client().get(LOGIN)
    assert answer.status_code == 502 and "did not respond as expected" in answer.content.decode()


def test_without_another_site_there_is_neither_button_nor_address(settings: Any, alice: User) -> None:
    settings.SOCIALACCOUNT_PROVIDERS = {}
    assert "Continue with" not in Client().get(reverse("sign-in")).content.decode()
    assert Client().get(LOGIN).status_code == 404


def test_the_environment_names_the_other_site_completely_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROVE_OIDC_URL", raising=False)
    assert providers() == {}
    monkeypatch.setenv("PROVE_OIDC_URL", "https://sign-in.example.com")
    with pytest.raises(ImproperlyConfigured, match="PROVE_OIDC_CLIENT_ID"):
        providers()
    monkeypatch.setenv("PROVE_OIDC_CLIENT_ID", "prove")
    assert providers() == build_provider_settings("https://sign-in.example.com", "prove", "", "single sign-on")
