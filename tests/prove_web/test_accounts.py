"""Users: signing in and out, the members of a team, new projects, and the pages of refused requests."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.http import Http404
from django.test import Client
from django.urls import reverse

from prove_web.accounts import memberships
from prove_web.accounts.models import Membership, Organisation, Project, User
from prove_web.accounts.roles import Role

AsUser = Callable[[User], Client]
PASSWORD = "correct horse battery"
MEGABYTES = 1_100_000


def sign_in(client: Client, name: str, password: str = PASSWORD, **rest: str) -> Any:
    return client.post(reverse("sign-in"), {"username": name, "password": password, **rest})


def follow(
    client: Client, page: str, organisation: Organisation, data: dict[str, Any] | None = None, *rest: Any
) -> str:
    """Send a form and read the page that it leads to."""
    response = client.post(reverse(page, args=[organisation.slug, *rest]), data or {}, follow=True)
    return str(response.content.decode())


def role_of(user: User) -> str:
    return Membership.objects.get(user=user).role


@pytest.mark.parametrize("name", ["alice", "alice@example.com", "Alice@Example.COM"])
def test_one_signs_in_by_user_name_or_e_mail_address(name: str, client: Client, alice: User, project: Project) -> None:
    response = sign_in(client, name)
    assert response.status_code == 302 and client.get("/")["Location"] == project.get_absolute_url()


@pytest.mark.parametrize(("name", "password"), [("alice", "wrong"), ("nobody", PASSWORD), ("no@example.com", PASSWORD)])
def test_a_failed_sign_in_does_not_tell_who_has_an_account(
    name: str, password: str, client: Client, alice: User
) -> None:
    response = sign_in(client, name, password)
    assert response.status_code == 200 and b"Wrong username or password" in response.content
    assert f'value="{name}"'.encode() in response.content, "what was typed is kept"


def test_after_too_many_wrong_passwords_not_even_the_right_one_is_looked_at(
    client: Client, alice: User, victor: User, settings: Any
) -> None:
    """The lock counts every spelling of the name, holds for that name and machine only, and ends after the wait."""
    names = ["alice", "Alice@example.com", "alice@EXAMPLE.com", "alice@example.com", "alice"]
    settings.AXES_FAILURE_LIMIT = len(names)
    answers = [sign_in(client, name, "wrong") for name in names]
    assert [answer.status_code for answer in answers] == [200] * 4 + [429]
    locked = sign_in(client, "alice", next="/acme/")
    assert locked.status_code == 429 and b"Wait 15 minutes" in locked.content
    assert b'value="alice"' in locked.content and b'value="/acme/"' in locked.content, "what was typed is kept"
    assert sign_in(Client(), "victor").status_code == 302
    assert sign_in(Client(REMOTE_ADDR="10.0.0.9"), "alice").status_code == 302
    assert sign_in(client, "alice").status_code == 429
    settings.AXES_COOLOFF_TIME = timedelta(0)
    assert sign_in(Client(), "alice").status_code == 302


def test_an_address_does_not_sign_in_whoever_has_it_as_a_user_name(client: Client, alice: User) -> None:
    User.objects.create_user("alice@example.com", "other@example.com", "another password")
    assert sign_in(client, "alice@example.com", PASSWORD).status_code == 200
    assert sign_in(client, "alice@example.com", "another password").status_code == 302


def test_signing_in_leads_to_the_requested_page_and_to_no_other_site(
    client: Client, alice: User, project: Project
) -> None:
    wanted = client.get(project.get_absolute_url())["Location"]
    assert wanted == f"/sign-in/?next={project.get_absolute_url()}"
    assert sign_in(client, "alice", next=project.get_absolute_url())["Location"] == project.get_absolute_url()
    client.logout()
    assert sign_in(client, "alice", next="https://evil.example/")["Location"] == "/"


def test_signing_out_takes_a_form_and_not_a_link(as_user: AsUser, alice: User, project: Project) -> None:
    client = as_user(alice)
    assert client.get(reverse("sign-out")).status_code == 405
    assert client.get(project.get_absolute_url()).status_code == 200
    assert client.post(reverse("sign-out"))["Location"] == reverse("sign-in")
    assert client.get(project.get_absolute_url()).status_code == 302


def test_the_start_is_the_newest_project_one_may_see(
    as_user: AsUser, alice: User, charlie: User, project: Project
) -> None:
    newest = Project.objects.create(organisation=project.organisation, slug="newest", name="Newest")
    assert as_user(alice).get("/")["Location"] == newest.get_absolute_url()
    assert as_user(charlie).get("/")["Location"] == "/other/demo/"


def test_someone_without_a_team_reads_what_to_do(as_user: AsUser, db: None) -> None:
    text = as_user(User.objects.create_user("nina", "nina@example.com", PASSWORD)).get("/").content.decode()
    assert "You are not in a team yet" in text and "Ask an owner" in text


def test_everyone_sees_who_is_in_the_team_and_only_owners_may_change_it(
    as_user: AsUser, alice: User, victor: User, organisation: Organisation
) -> None:
    page = organisation.get_absolute_url()
    seen, managed = (as_user(user).get(page).content.decode() for user in (victor, alice))
    assert all(user.email in seen for user in (alice, victor))
    assert reverse("member-add", args=[organisation.slug]) not in seen
    assert reverse("member-add", args=[organisation.slug]) in managed


def test_a_new_user_gets_a_password_that_appears_once(
    as_user: AsUser, alice: User, organisation: Organisation, project: Project
) -> None:
    client = as_user(alice)
    page = follow(client, "member-add", organisation, {"person": "nina@example.com", "role": "annotator"})
    password = re.search(r'id="first-password">([^<]+)<', page)
    assert password and password[1] not in client.get(organisation.get_absolute_url()).content.decode()
    assert sign_in(Client(), "nina@example.com", password[1]).status_code == 302
    assert role_of(User.objects.get(username="nina")) == Role.ANNOTATOR


@pytest.mark.parametrize("name", ["charlie", "CHARLIE@example.com"])
def test_someone_with_an_account_is_added_by_either_name_and_keeps_the_password(
    name: str, as_user: AsUser, alice: User, charlie: User, organisation: Organisation
) -> None:
    page = follow(as_user(alice), "member-add", organisation, {"person": name, "role": "viewer"})
    assert "charlie is a member now." in page and "first-password" not in page
    assert sign_in(Client(), "charlie").status_code == 302 and User.objects.count() == 2


@pytest.mark.parametrize(
    ("person", "role", "fault"),
    [
        ("nobody", "viewer", "enter their e-mail address"),
        ("not an@address", "viewer", "Enter a valid email address"),
        ("bob", "viewer", "is already a member"),
        ("BOB@example.com", "viewer", "is already a member"),
        ("", "viewer", "This field is required"),
        ("nina@example.com", "emperor", "Select a valid choice"),
    ],
)
def test_a_form_that_makes_no_sense_adds_nobody_and_says_why(
    person: str, role: str, fault: str, as_user: AsUser, alice: User, bob: User, organisation: Organisation
) -> None:
    assert fault in follow(as_user(alice), "member-add", organisation, {"person": person, "role": role})
    assert organisation.members.count() == User.objects.count() == 2


def test_two_people_whose_addresses_begin_alike_get_two_user_names(organisation: Organisation) -> None:
    for address in ("sam@one.example", "sam@two.example", "Sam@three.example"):
        memberships.add(organisation, address, Role.VIEWER)
    assert {*User.objects.values_list("username", flat=True)} == {"sam", "sam2", "Sam3"}


def test_a_role_is_changed_and_a_member_removed(
    as_user: AsUser, alice: User, bob: User, organisation: Organisation, project: Project
) -> None:
    client, member = as_user(alice), Membership.objects.get(user=bob)
    assert "bob is now maintainer." in follow(client, "member-change", organisation, {"role": "maintainer"}, member.pk)
    assert role_of(bob) == Role.MAINTAINER
    assert "There is no such role." in follow(client, "member-change", organisation, {"role": "emperor"}, member.pk)
    assert "bob is no longer a member" in follow(client, "member-remove", organisation, None, member.pk)
    assert as_user(bob).get(project.get_absolute_url()).status_code == 404


@pytest.mark.parametrize(("page", "data"), [("member-change", {"role": "viewer"}), ("member-remove", {})])
def test_the_last_owner_stays(
    page: str, data: dict[str, Any], as_user: AsUser, alice: User, bob: User, organisation: Organisation
) -> None:
    member = Membership.objects.get(user=alice)
    assert "A team needs an owner" in follow(as_user(alice), page, organisation, data, member.pk)
    assert role_of(alice) == Role.OWNER
    memberships.change(Membership.objects.get(user=bob), Role.OWNER)
    follow(as_user(alice), page, organisation, data, member.pk)
    assert Membership.objects.filter(role=Role.OWNER).count() == 1


def test_who_was_removed_meanwhile_is_given_no_other_role(alice: User, bob: User) -> None:
    opened = Membership.objects.get(user=bob)
    memberships.remove(Membership.objects.get(user=bob))
    with pytest.raises(Http404, match="not in the team any more"):
        memberships.change(opened, Role.MAINTAINER)


def test_an_owner_makes_a_project_and_lands_in_it(as_user: AsUser, alice: User, organisation: Organisation) -> None:
    response = as_user(alice).post(reverse("project-new", args=[organisation.slug]), {"name": "Support & Sales"})
    assert response["Location"] == "/acme/support-sales/"
    assert as_user(alice).get(response["Location"]).status_code == 200


@pytest.mark.parametrize(
    ("name", "slug", "fault"),
    [
        ("Demo", "", "is already used"),
        ("Demo", "DEMO", "is already used"),
        ("Members", "", "is reserved"),
        ("???", "", "derive a URL slug"),
        ("", "fine", "This field is required"),
        ("Fine", "not fine", "Enter a valid"),
    ],
)
def test_a_project_that_cannot_be_says_why(
    name: str, slug: str, fault: str, as_user: AsUser, alice: User, project: Project
) -> None:
    page = reverse("project-new", args=[project.organisation.slug])
    response = as_user(alice).post(page, {"name": name, "slug": slug})
    assert response.status_code == 422 and fault in response.content.decode()
    assert Project.objects.count() == 1


def test_the_switcher_lists_the_projects_of_all_ones_teams_and_of_no_other(
    as_user: AsUser, alice: User, charlie: User, project: Project
) -> None:
    assert "Theirs" not in as_user(alice).get(project.get_absolute_url()).content.decode()
    Membership.objects.create(organisation=Organisation.objects.get(slug="other"), user=alice)
    assert "Theirs" in as_user(alice).get(project.get_absolute_url()).content.decode()


def test_a_member_without_the_role_reads_which_role_is_required(
    as_user: AsUser, victor: User, organisation: Organisation
) -> None:
    response = as_user(victor).get(reverse("project-new", args=[organisation.slug]))
    assert response.status_code == 403
    assert "requires the Owner role. Your role is Viewer." in response.content.decode()


def test_a_page_that_there_is_not_names_nothing(as_user: AsUser, charlie: User, project: Project) -> None:
    closed = as_user(charlie).get(project.get_absolute_url())
    missing = as_user(charlie).get("/acme/nothing/")
    assert closed.status_code == missing.status_code == 404
    assert closed.content == missing.content and project.name.encode() not in closed.content


def test_a_form_that_is_too_big_is_refused_in_words(as_user: AsUser, alice: User, organisation: Organisation) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(alice)
    response = client.post(reverse("project-new", args=[organisation.slug]), {"name": "x" * MEGABYTES})
    assert response.status_code == 413
    assert "Request too large" in response.content.decode() and "Traceback" not in response.content.decode()


def test_a_form_without_its_token_is_refused_in_words(alice: User, organisation: Organisation) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    response = client.post(reverse("project-new", args=[organisation.slug]), {"name": "Forged"})
    assert response.status_code == 403 and "This form has expired" in response.content.decode()
    assert not Project.objects.exists()


def test_a_fault_of_ours_shows_no_traceback(
    alice: User, organisation: Organisation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Organisation) -> str:
        raise RuntimeError("a secret")

    monkeypatch.setattr(Organisation, "__str__", broken)
    client = Client(raise_request_exception=False)
    client.force_login(alice)
    response = client.get(organisation.get_absolute_url())
    assert response.status_code == 500 and b"Server error" in response.content
    assert b"a secret" not in response.content and b"Traceback" not in response.content


def test_one_changes_ones_own_password(as_user: AsUser, alice: User, project: Project) -> None:
    client, new = as_user(alice), "staple battery horse"
    form = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    assert "Your password is changed." in client.post(reverse("password"), form, follow=True).content.decode()
    assert sign_in(Client(), "alice", new).status_code == 302
