"""Invitations by link: who makes them, who joins by them, and that nobody gets more than was invited."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from prove_web.accounts import invitations, memberships
from prove_web.accounts.invitations import InvitationClosedError, InvitationRequest
from prove_web.accounts.models import Invitation, Membership, Organisation, Project, User
from prove_web.accounts.roles import Role

AsUser = Callable[[User], Client]
PASSWORD = "correct horse battery"
NEW = {"name": "Nina Novak", "email": "nina@example.com", "password": "staple battery horse"}


@pytest.fixture
def nina(db: None) -> User:
    return User.objects.create_user("nina", "nina@example.com", PASSWORD)


def create_invitation(client: Client, organisation: Organisation, **fields: Any) -> str:
    """Create an invitation and return the path of the link on the page."""
    form = {"role": "annotator", "days": "7", "most": "1", **fields}
    page = client.post(reverse("invitation-new", args=[organisation.slug]), form).content.decode()
    found = re.search(r'id="invitation-link">https?://[^/]+(/[^<]+)<', page)
    assert found, page
    return found[1]


def role_of(user: User, organisation: Organisation) -> str | None:
    return Membership.objects.filter(user=user, organisation=organisation).values_list("role", flat=True).first()


def test_a_stranger_makes_an_account_by_a_link_and_is_in_the_team_at_once(
    as_user: AsUser, alice: User, organisation: Organisation, project: Project
) -> None:
    link, stranger = create_invitation(as_user(alice), organisation), Client()
    page = stranger.get(link).content.decode()
    assert "alice invites you" in page and "annotator" in page and project.name not in page
    assert stranger.post(link, NEW)["Location"] == project.get_absolute_url()
    user = User.objects.get(email=NEW["email"])
    assert (user.get_full_name(), role_of(user, organisation)) == (NEW["name"], Role.ANNOTATOR)
    assert stranger.get(project.get_absolute_url()).status_code == 200
    again = Client().post(reverse("sign-in"), {"username": NEW["email"], "password": NEW["password"]})
    assert again.status_code == 302


def test_who_has_an_account_joins_with_a_button_and_not_by_looking(
    as_user: AsUser, alice: User, nina: User, organisation: Organisation, project: Project
) -> None:
    link, client = create_invitation(as_user(alice), organisation), as_user(nina)
    assert "Join as nina" in client.get(link).content.decode() and role_of(nina, organisation) is None
    page = client.post(link, follow=True).content.decode()
    assert "You joined Acme as annotator." in page and role_of(nina, organisation) == Role.ANNOTATOR


def test_the_link_is_displayed_once_and_only_its_hash_is_stored(
    as_user: AsUser, alice: User, organisation: Organisation
) -> None:
    client = as_user(alice)
    text = create_invitation(client, organisation, note="For the new one").split("/")[-2]
    page = client.get(organisation.get_absolute_url()).content.decode()
    assert "For the new one" in page and text not in page
    assert text not in str(list(Invitation.objects.values()))


def test_only_owners_see_the_invitations_of_a_team(
    as_user: AsUser, alice: User, mary: User, organisation: Organisation
) -> None:
    create_invitation(as_user(alice), organisation, note="A secret guest")
    assert "A secret guest" not in as_user(mary).get(organisation.get_absolute_url()).content.decode()


def test_an_invitation_changes_no_role_and_is_not_used_up_by_a_member(
    as_user: AsUser, alice: User, victor: User, organisation: Organisation
) -> None:
    link, client = create_invitation(as_user(alice), organisation, role="owner"), as_user(victor)
    assert "You are already a member, as viewer" in client.get(link, follow=True).content.decode()
    assert client.post(link).status_code == 302
    assert role_of(victor, organisation) == Role.VIEWER and Invitation.objects.get().used == 0


@pytest.mark.parametrize(
    ("closed", "words", "status"),
    [
        ({"used": 1}, "is used up", 410),
        ({"expires_at": timezone.now() - timedelta(seconds=1)}, "has expired", 410),
        ({"withdrawn_at": timezone.now()}, "was withdrawn", 410),
        ({"hash": "another"}, "There is no such invitation", 404),
    ],
)
def test_a_closed_link_says_why_and_creates_no_user(
    closed: dict[str, Any],
    words: str,
    status: int,
    as_user: AsUser,
    alice: User,
    nina: User,
    organisation: Organisation,
) -> None:
    link = create_invitation(as_user(alice), organisation)
    Invitation.objects.update(**closed)
    for client, form in ((Client(), {**NEW, "email": "new@example.com"}), (as_user(nina), {})):
        for answer in (client.get(link), client.post(link, form)):
            assert answer.status_code == status and words in answer.content.decode()
    assert {*User.objects.all()} == {alice, nina} and role_of(nina, organisation) is None


def test_a_member_who_follows_the_link_again_is_redirected_to_the_team(
    as_user: AsUser, alice: User, nina: User, organisation: Organisation
) -> None:
    link, client = create_invitation(as_user(alice), organisation), as_user(nina)
    client.post(link)
    assert client.get(link)["Location"] == organisation.get_absolute_url()


def test_an_invitation_for_an_address_is_for_nobody_else(
    as_user: AsUser, alice: User, nina: User, charlie: User, organisation: Organisation
) -> None:
    link = create_invitation(as_user(alice), organisation, email="Nina@Example.com")
    refused = as_user(charlie).post(link)
    assert refused.status_code == 403 and "for another e-mail address" in refused.content.decode()
    other = Client().post(link, {**NEW, "email": "other@example.com"})
    assert other.status_code == 422 and "for another e-mail address" in other.content.decode()
    assert as_user(nina).post(link).status_code == 302 and role_of(nina, organisation) == Role.ANNOTATOR
    assert role_of(charlie, organisation) is None


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        ({"email": "NINA@example.com"}, "An account with this address already exists"),
        ({"email": "none"}, "Enter a valid email address"),
        ({"password": "short"}, "too short"),
        ({"password": "new@example.com"}, "too similar"),
        ({"name": ""}, "This field is required"),
    ],
)
def test_an_invalid_new_account_says_why_and_keeps_what_was_typed(
    wrong: dict[str, str], fault: str, as_user: AsUser, alice: User, nina: User, organisation: Organisation
) -> None:
    link = create_invitation(as_user(alice), organisation)
    answer = Client().post(link, {**NEW, "email": "new@example.com", **wrong})
    page = answer.content.decode()
    assert answer.status_code == 422 and fault in page and (wrong.get("name") == "" or 'value="Nina Novak"' in page)
    assert User.objects.count() == 2 and Invitation.objects.get().used == 0


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        ({"role": "emperor"}, "Select a valid choice"),
        ({"most": "0"}, "greater than or equal to 1"),
        ({"days": "4000"}, "Select a valid choice"),
        ({"email": "a@example.com", "most": "2"}, "An address belongs to one person"),
    ],
)
def test_an_invitation_that_makes_no_sense_says_why(
    wrong: dict[str, str], fault: str, as_user: AsUser, alice: User, organisation: Organisation
) -> None:
    form = {"role": "viewer", "days": "7", "most": "1", "note": "Kept", **wrong}
    answer = as_user(alice).post(reverse("invitation-new", args=[organisation.slug]), form)
    page = answer.content.decode()
    assert answer.status_code == 422 and fault in page and 'value="Kept"' in page
    assert not Invitation.objects.exists()


def test_a_withdrawal_can_be_undone(as_user: AsUser, alice: User, nina: User, organisation: Organisation) -> None:
    client = as_user(alice)
    link = create_invitation(client, organisation)
    where = reverse("invitation-withdraw", args=[organisation.slug, Invitation.objects.get().pk])
    assert "Its link no longer works" in client.post(where, follow=True).content.decode()
    assert as_user(nina).post(link).status_code == 410
    assert "Invitation restored" in client.post(where, {"undo": "1"}, follow=True).content.decode()
    assert as_user(nina).post(link).status_code == 302


@pytest.mark.parametrize("how", ["demoted", "removed"])
def test_an_invitation_of_a_former_owner_lets_nobody_in(
    how: str, as_user: AsUser, alice: User, mary: User, nina: User, organisation: Organisation
) -> None:
    links = [create_invitation(as_user(alice), organisation)]
    member = Membership.objects.get(user=mary)
    memberships.change(member, Role.OWNER)
    links.append(create_invitation(as_user(mary), organisation))
    if how == "demoted":
        memberships.change(member, Role.MAINTAINER)
    else:
        memberships.remove(member)
    assert [as_user(nina).get(link).status_code for link in links] == [200, 410]


def test_invitations_of_another_team_are_not_found_here(
    as_user: AsUser, alice: User, charlie: User, organisation: Organisation
) -> None:
    other = Organisation.objects.get(slug="other")
    create_invitation(as_user(charlie), other)
    where = reverse("invitation-withdraw", args=[organisation.slug, Invitation.objects.get().pk])
    assert as_user(alice).post(where).status_code == 404 and Invitation.objects.open().exists()


@pytest.mark.parametrize("seed", range(6))
def test_no_sequence_of_changes_lets_anybody_in_beyond_the_invitations(
    seed: int, alice: User, organisation: Organisation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A random walk agrees with a model: each open invitation lets in as many people as it says, with its role."""
    draw, now, people = random.Random(seed), timezone.now(), iter(range(1000))
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)
    texts, expected = dict[int, str](), {alice.pk: Role.OWNER.value}
    left, closes, withdrawn = dict[int, int](), dict[int, Any](), set[int]()
    for _ in range(60):
        match draw.choice(["invite", "join", "join", "join", "withdraw", "undo", "wait"]) if texts else "invite":
            case "invite":
                request = InvitationRequest(
                    role=draw.choice(Role.values), most=draw.randint(1, 3), days=draw.choice([1, 7])
                )
                one, text = invitations.invite(organisation, alice, request)
                texts[one.pk], left[one.pk], closes[one.pk] = text, request.most, now + timedelta(days=request.days)
            case "join":
                pk, number = draw.choice([*texts]), next(people)
                user = User.objects.create_user(f"p{number}", f"p{number}@example.com")
                lets_in = left[pk] > 0 and now < closes[pk] and pk not in withdrawn
                if lets_in:
                    expected[user.pk], left[pk] = Invitation.objects.get(pk=pk).role, left[pk] - 1
                try:
                    invitations.join(texts[pk], user)
                    assert lets_in
                except InvitationClosedError:
                    assert not lets_in
            case "withdraw":
                withdrawn.add(pk := draw.choice([*texts]))
                invitations.withdraw(Invitation.objects.get(pk=pk))
            case "undo":
                withdrawn.discard(pk := draw.choice([*texts]))
                invitations.give_back(Invitation.objects.get(pk=pk))
            case "wait":
                now += timedelta(hours=draw.choice([1, 20]))
        assert dict(organisation.memberships.values_list("user", "role")) == expected
        is_open = {pk for pk in texts if left[pk] and now < closes[pk] and pk not in withdrawn}
        assert {*organisation.invitations.open().values_list("pk", flat=True)} == is_open


def test_several_people_are_invited_at_once_each_by_a_link_of_their_own(
    as_user: AsUser, alice: User, organisation: Organisation, project: Project
) -> None:
    form = {"role": "viewer", "days": "7", "most": "1", "email": "nina@example.com, olga@example.com\nNINA@example.com"}
    page = as_user(alice).post(reverse("invitation-new", args=["acme"]), form).content.decode()
    links = re.findall(r'id="invitation-link[-0-9]*">https?://[^/]+(/[^<]+)<', page)
    assert "2 invitations created" in page and len({*links}) == 2
    pages = [Client().get(link).content.decode() for link in links]
    assert ["NINA@example.com" in pages[0], "olga@example.com" in pages[1]] == [True, True]
    assert Client().post(links[1], {**NEW, "email": "nina@example.com"}).status_code == 422


@pytest.mark.parametrize(
    ("email", "reason"),
    [
        ("nina@example.com, nobody", "“nobody” is not an e-mail address."),
        ("nina@example.com bob@example.com", "bob@example.com: already in the team."),
        (" ".join(f"n{number}@example.com" for number in range(51)), "Invite at most 50 at a time."),
    ],
)
def test_one_wrong_address_of_several_makes_no_invitation_and_loses_none(
    email: str, reason: str, as_user: AsUser, alice: User, bob: User, organisation: Organisation
) -> None:
    form = {"role": "viewer", "days": "7", "most": "1", "email": email}
    answer = as_user(alice).post(reverse("invitation-new", args=["acme"]), form)
    page = answer.content.decode()
    assert answer.status_code == 422 and reason in page and email.split()[0].rstrip(",") in page
    assert not Invitation.objects.exists()
