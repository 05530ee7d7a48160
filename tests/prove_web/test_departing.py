"""What happens to a user's objects when they leave a team or lose the role to make them: the table in the docs."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from prove_web.accounts import invitations, memberships
from prove_web.accounts.invitations import InvitationRequest
from prove_web.accounts.models import Entry, Invitation, Membership, Organisation, Project, SavedView, User
from prove_web.accounts.roles import Role
from prove_web.alerts.models import Rule, Webhook
from prove_web.api import tokens as api_tokens
from prove_web.api.models import ApiToken
from prove_web.environments.models import ThirdParty
from prove_web.live.models import Job, State
from prove_web.live.socket_permissions import get_permitted_users
from prove_web.review.models import Notification, Review
from prove_web.review.notifications import list_notifications
from prove_web.review.review_services import finish
from prove_web.servers import tokens as session_tokens
from prove_web.servers.models import ConnectToken, LiveSession
from prove_web.sharing import links
from prove_web.sharing.models import Share
from prove_web.sharing.share_scope import resolve_page
from prove_web.trajectories.models import Dataset
from prove_web.workers import enrolment
from prove_web.workers.models import Enrolment

from .furnished import furnish
from .reviewed import given, queue_of

AsUser = Callable[[User], Client]
DOCS = Path(__file__).parents[2] / "docs/team.md"
MADE = "Created by a user"


@pytest.fixture
def ann(organisation: Organisation) -> User:
    """Create an owner beside Alice who will leave."""
    user = User.objects.create_user("ann", "ann@example.com", "correct horse battery")
    Membership.objects.create(organisation=organisation, user=user, role=Role.OWNER)
    return user


@pytest.fixture
def names(project: Project, ann: User, alice: User, settings: LazySettings, tmp_path: Path) -> dict[str, Any]:
    settings.PROVE_DATA = tmp_path
    return furnish(project, ann)


def invitation(project: Project, ann: User, names: dict[str, Any]) -> Callable[[], bool]:
    made, _ = invitations.invite(project.organisation, ann, InvitationRequest(role="viewer"))
    return lambda: not Invitation.objects.get(pk=made.pk).closed_reason


def machine(project: Project, ann: User, names: dict[str, Any]) -> Callable[[], bool]:
    _, text = enrolment.enrol(project.organisation, ann, "Box", 1)
    return lambda: enrolment.find_valid_enrolment(text) is not None


def share_link(project: Project, ann: User, names: dict[str, Any]) -> Callable[[], bool]:
    page = resolve_page(project, f"runs/{names['run']}/", "")
    assert page
    _, secret = links.issue(project, ann, page)
    return lambda: Client().get(reverse("shared", args=[secret])).status_code == 200


def session_token(project: Project, ann: User, names: dict[str, Any]) -> Callable[[], bool]:
    session = LiveSession.objects.get(pk=names["session"])
    _, text = session_tokens.issue(session, ann, "Desk", True)
    return lambda: session_tokens.authenticate_session_token(text) is not None


def api_token(project: Project, ann: User, names: dict[str, Any]) -> Callable[[], bool]:
    _, text = api_tokens.issue(ann, project.organisation, "Loop", ["view", "launch"])
    headers = {"Authorization": f"Bearer {text}"}
    return lambda: (
        Client().get(f"/api/v1/{project.organisation.slug}/{project.slug}/runs", headers=headers).status_code == 200
    )


def pages(project: Project, ann: User, names: dict[str, Any]) -> Callable[[], bool]:
    client = Client()
    client.force_login(ann)
    follows = lambda: ann.pk in (get_permitted_users(("project", str(project.pk)), [ann.pk]) or set())  # noqa: E731
    return lambda: client.get(project.get_absolute_url()).status_code == 200 and follows()


def there(table: Any, **which: Any) -> Callable[[], bool]:
    return lambda: bool(table.objects.filter(**which).exists())


def webhook(project: Project, ann: User, names: dict[str, Any]) -> Callable[[], bool]:
    Webhook.objects.filter(project=project).update(made_by=ann)
    return there(Webhook, made_by=ann, enabled=True, removed_at=None)


def rule(project: Project, ann: User, names: dict[str, Any]) -> Callable[[], bool]:
    return there(Rule, made_by=ann, enabled=True)


def server(project: Project, ann: User, names: dict[str, Any]) -> Callable[[], bool]:
    ThirdParty.objects.filter(project=project).update(added_by=ann)
    return there(ThirdParty, added_by=ann)


def work(project: Project, ann: User, names: dict[str, Any]) -> Callable[[], bool]:
    return there(Job, pk=names["job"], state=State.QUEUED, created_by=ann)


def things(project: Project, ann: User, names: dict[str, Any]) -> Callable[[], bool]:
    dataset = there(Dataset, project=project, job__created_by=ann)
    view = there(SavedView, project=project, made_by=ann)
    return lambda: dataset() and view()


def label(project: Project, ann: User, names: dict[str, Any]) -> Callable[[], bool]:
    item = queue_of(project, ann).items.get(position=1)
    finish(item, ann, given(item, ann, "accept"))
    return there(Review, item=item, reviewer=ann)


def notification(project: Project, ann: User, names: dict[str, Any]) -> Callable[[], bool]:
    Notification.objects.create(user=ann, project=project, text="A run is done", url=project.get_absolute_url())
    return lambda: list_notifications(ann).exists()


# The first column of the table, with a function that makes one and returns a check that it still works.
ROWS = {
    "Invitations": invitation,
    "Enrolled machines": machine,
    "Share links": share_link,
    "Session tokens for MCP clients": session_token,
    "API tokens": api_token,
    "Their sign-in, open pages and socket": pages,
    "Notifications": notification,
    "Webhooks": webhook,
    "Alert rules": rule,
    "Third-party servers": server,
    "Queued and running jobs": work,
    "Runs, datasets, sessions, views and other objects": things,
    "Labels, comments and notes": label,
}
# The lowest role for each: a role below it ends the thing where the table says so.
LEAST = {
    "Invitations": Role.OWNER,
    "Enrolled machines": Role.OWNER,
    "Share links": Role.MAINTAINER,
    "Session tokens for MCP clients": Role.ANNOTATOR,
}


THEMSELVES = {"Their sign-in, open pages and socket", "Notifications"}  # not what they made


def table() -> dict[str, tuple[str, str]]:
    """Return what the docs say of each thing: when its maker leaves, and when their role is lowered."""
    lines = DOCS.read_text("utf-8").partition(f"| {MADE} |")[2].partition("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {thing: (leaving, lowered) for thing, leaving, lowered in rows}


def test_each_row_of_the_table_is_tried_here() -> None:
    assert {*table()} == {*ROWS}


def good(made: dict[str, Callable[[], bool]]) -> set[str]:
    return {thing for thing, look in made.items() if look()}


def test_what_ends_when_its_maker_leaves_and_what_stays(
    project: Project, ann: User, names: dict[str, Any], organisation: Organisation
) -> None:
    made = {thing: make(project, ann, names) for thing, make in ROWS.items()}
    assert good(made) == {*ROWS}
    memberships.remove(Membership.objects.get(user=ann))
    stays = {thing for thing, (leaving, _) in table().items() if leaving.startswith("stay")}
    assert good(made) == stays
    Membership.objects.create(organisation=organisation, user=ann, role=Role.OWNER)
    assert good(made) == stays | THEMSELVES, "what ended does not begin again when they come back"


@pytest.mark.parametrize("role", [Role.MAINTAINER, Role.ANNOTATOR, Role.VIEWER])
def test_what_ends_when_its_maker_may_no_longer_make_it(
    role: Role, project: Project, ann: User, names: dict[str, Any]
) -> None:
    assert {thing for thing, (_, lowered) in table().items() if lowered.startswith("end")} == {*LEAST}
    order = list(Role)
    ended = {thing for thing, least in LEAST.items() if order.index(role) < order.index(least)}
    made = {thing: make(project, ann, names) for thing, make in ROWS.items()}
    membership = Membership.objects.get(user=ann)
    for each in (role, Role.OWNER):
        memberships.change(membership, each)
        assert good(made) == {*ROWS} - ended


def test_an_owner_sees_what_ended_and_why(
    as_user: AsUser, alice: User, ann: User, project: Project, names: dict[str, Any]
) -> None:
    member = Membership.objects.get(user=ann)
    client = as_user(alice)
    page = client.post(reverse("member-remove", args=["acme", member.pk]), follow=True).content.decode()
    ended = re.search(r"Revoked: ([^.]*)\.", page)
    assert ended and ended[1] == "1 invitation, 1 machine, 1 share link, 1 session token and 1 API token"
    assert "ann left the team" in client.get(reverse("shares", args=project.path)).content.decode()
    noted = Entry.objects.filter(additional_data__because="ann left the team", actor=alice)
    kinds = {*noted.values_list("content_type__model", flat=True)}
    assert kinds >= {"invitation", "enrolment", "share", "connecttoken", "apitoken"}


def test_what_others_made_goes_on(project: Project, ann: User, mary: User, names: dict[str, Any]) -> None:
    theirs = [share_link(project, mary, names), session_token(project, mary, names), api_token(project, mary, names)]
    memberships.remove(Membership.objects.get(user=ann))
    assert [opens() for opens in theirs] == [True, True, True]


def test_what_they_made_for_another_team_goes_on(project: Project, ann: User, names: dict[str, Any]) -> None:
    other = Organisation.objects.create(slug="second", name="Second")
    Membership.objects.create(organisation=other, user=ann, role=Role.OWNER)
    theirs = Project.objects.create(organisation=other, slug="demo", name="Theirs")
    made = [make(theirs, ann, names) for make in (invitation, machine)]
    _, text = api_tokens.issue(ann, other, "Loop", ["view"])
    memberships.remove(Membership.objects.get(user=ann, organisation=project.organisation))
    assert [each() for each in made] == [True, True] and api_tokens.authenticate_api_token(text)


def test_a_link_ends_with_the_account_of_its_maker(project: Project, ann: User, names: dict[str, Any]) -> None:
    opens = share_link(project, ann, names)
    ann.is_active = False
    ann.save()
    assert not opens()


def test_the_page_to_leave_lists_what_ends_and_requires_a_confirmation(
    as_user: AsUser, ann: User, project: Project, names: dict[str, Any]
) -> None:
    client, page = as_user(ann), reverse("leave", args=["acme"])
    assert "1 share link" in client.get(page).content.decode()
    assert client.post(page).status_code == client.post(page, {"leave": "other"}).status_code == 422
    assert Membership.objects.filter(user=ann).exists()
    left = client.post(page, {"leave": "acme"}, follow=True)
    assert "You are no longer a member of Acme." in left.content.decode()
    assert (
        not Membership.objects.filter(user=ann).exists() and client.get(project.get_absolute_url()).status_code == 404
    )
    assert not ApiToken.objects.filter_valid().exists() and not ConnectToken.objects.filter(revoked_at=None).exists()
    assert not Enrolment.objects.filter(revoked_at=None).exists() and not Share.objects.open().exists()


def test_the_last_owner_does_not_leave(as_user: AsUser, alice: User, mary: User, organisation: Organisation) -> None:
    page = reverse("leave", args=["acme"])
    answer = as_user(alice).post(page, {"leave": "acme"})
    assert answer.status_code == 422 and "Make someone else an owner first" in answer.content.decode()
    assert as_user(mary).post(page, {"leave": "acme"}).status_code == 302
    assert [*organisation.members.all()] == [alice]


def test_a_member_whose_role_changes_gets_a_notification(
    as_user: AsUser, alice: User, bob: User, project: Project
) -> None:
    member = Membership.objects.get(user=bob)
    for role in (Role.MAINTAINER, Role.MAINTAINER):
        as_user(alice).post(reverse("member-change", args=["acme", member.pk]), {"role": role})
    texts = [each.text for each in Notification.objects.filter(user=bob)]
    assert len(texts) == 1 and texts[0].startswith("Your role in Acme is now Maintainer. You can see everything")
    assert escape(texts[0]) in as_user(bob).get(reverse("notifications")).content.decode()


def test_the_migration_ends_what_former_members_left_behind(
    project: Project, ann: User, mary: User, names: dict[str, Any]
) -> None:
    kinds = (machine, share_link, session_token, api_token)
    theirs = {make.__name__: make(project, ann, names) for make in kinds}
    others = {make.__name__: make(project, mary, names) for make in kinds[1:]}
    Membership.objects.filter(user=ann).delete()
    migration = import_module("prove_web.accounts.migrations.0007_end_what_acts_for_who_left")
    migration.end(apps, None)
    Membership.objects.create(organisation=project.organisation, user=ann, role=Role.OWNER)
    assert good(theirs) == set() and good(others) == {*others}
