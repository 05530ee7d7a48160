"""The audit log: it records who did what and where, only owners read it, and it holds no secrets."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import resolve, reverse
from django.utils import timezone

from prove_web.accounts import audit, invitations, memberships
from prove_web.accounts.audit.registry import MODELS
from prove_web.accounts.invitations import InvitationRequest
from prove_web.accounts.models import Entry, Membership, Organisation, Project, User
from prove_web.accounts.roles import Role
from prove_web.api.models import ApiToken
from prove_web.api.tokens import issue
from prove_web.experiments.models import Run
from prove_web.live.models import Job, State
from prove_web.review import review_services
from prove_web.review.models import Queue
from prove_web.sharing import links
from prove_web.sharing.models import Deletion, Share
from prove_web.sharing.share_scope import SharedPage
from prove_web.sharing.soft_delete import delete
from prove_web.sharing.trash_purge import purge
from prove_web.trajectories.models import Dataset
from prove_web.workers.enrolment import enrol
from prove_web.workers.models import Enrolment

from .authenticator import code
from .furnished import furnish
from .reviewed import given, queue_of

AsUser = Callable[[User], Client]


def newest() -> Entry:
    return Entry.objects.select_related("actor", "project").first()


def log(client: Client, organisation: Organisation, **narrow: str) -> str:
    return client.get(reverse("audit", args=[organisation.slug]), narrow).content.decode()


def deeds(page: str) -> list[str]:
    """Return the actor and the action of each entry on a page."""
    return re.findall(r"<strong>(\w[\w ]*)</strong> ([\w ]+) <span", page)


def table(client: Client, organisation: Organisation, **narrow: str) -> list[dict[str, str]]:
    answer = client.get(reverse("audit-export", args=[organisation.slug]), narrow)
    return list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))


def test_a_change_of_role_is_logged_with_its_actor_and_both_roles(
    as_user: AsUser, alice: User, bob: User, organisation: Organisation
) -> None:
    member = Membership.objects.get(user=bob)
    answer = as_user(alice).post(reverse("member-change", args=["acme", member.pk]), {"role": "maintainer"})
    found = newest()
    assert (found.actor, found.did, found.object_repr) == (alice, "changed the role of", "bob")
    assert found.changes == {"role": ["annotator", "maintainer"]}
    assert found.cid == answer["X-Request-ID"] and found.remote_addr == "127.0.0.1"
    page = log(as_user(alice), organisation)
    assert "<del>annotator</del>" in page and "<ins>maintainer</ins>" in page and 'href="/acme/"' in page


def test_what_is_done_in_a_project_is_found_by_person_deed_project_and_date(
    as_user: AsUser, alice: User, mary: User, project: Project, settings: Any, tmp_path: Any
) -> None:
    settings.PROVE_DATA = tmp_path
    furnish(project, mary)
    Entry.objects.filter(actor=mary).delete()  # the entries of furnish()
    client, run = as_user(alice), Run.objects.get()
    with audit.override_actor(mary):
        audit.note(None, "resumed", run, project.organisation)
    Entry.objects.filter(did="resumed").update(timestamp=timezone.now() - timedelta(days=3))
    organisation, all_of_it = project.organisation, deeds(log(client, project.organisation))
    assert ("The site", "launched") in all_of_it and ("mary", "resumed") in all_of_it
    assert deeds(log(client, organisation, person=str(mary.pk))) == [("mary", "resumed")]
    assert {did for _, did in deeds(log(client, organisation, did="launched"))} == {"launched"}
    assert deeds(log(client, organisation, project="demo", person=str(mary.pk))) == [("mary", "resumed")]
    today = timezone.now().date()
    assert ("mary", "resumed") not in deeds(log(client, organisation, since=str(today)))
    assert deeds(log(client, organisation, until=str(today - timedelta(days=1)))) == [("mary", "resumed")]
    faulty = log(client, organisation, since="yesterday", did="flew")
    assert "Enter a valid date" in faulty and "Select a valid choice" in faulty


def test_launching_stopping_and_resuming_link_to_the_run(
    as_user: AsUser, mary: User, alice: User, project: Project, settings: Any, tmp_path: Any, broker: str
) -> None:
    settings.PROVE_DATA = tmp_path
    furnish(project, mary)
    Entry.objects.filter(actor=mary).delete()  # the entries of furnish()
    run, client = Run.objects.get(), as_user(mary)
    type(run.job).objects.filter(pk=run.job_id).update(state="queued")
    for what, form in (("job-stop", {"level": "after_step"}), ("job-resume", {})):
        client.post(reverse(what, args=[*project.path, run.job_id]), form)
    made = list(Entry.objects.filter(actor=mary).values_list("did", "object_repr", "url", "project"))
    assert made == [(did, "Run", run.get_absolute_url(), project.pk) for did in ("resumed", "stopped")]
    assert f'href="{run.get_absolute_url()}"' in log(as_user(alice), project.organisation)


def test_labels_are_logged_with_their_former_values(as_user: AsUser, alice: User, bob: User, project: Project) -> None:
    queue = queue_of(project, alice, 1)
    item = queue.items.get()
    review_services.finish(item, bob, given(item, bob, "accept"))
    review_services.undo(item, bob)
    review_services.finish(item, bob, given(item, bob, "reject"))
    logged = [(entry.did, entry.actor, entry.changes) for entry in Entry.objects.filter(actor=bob)]
    assert [did for did, _, _ in logged] == ["reviewed", "took back the review of", "reviewed"]
    assert logged[0][2]["answers"][0]["verdict"] == "accept" and logged[0][2]["answers"][1]["verdict"] == "reject"


def test_a_stranger_who_joins_is_the_one_who_did_it(alice: User, organisation: Organisation) -> None:
    _, text = invitations.invite(organisation, alice, InvitationRequest(role="viewer", note="For Nina"))
    link = reverse("join", args=[text])
    form = {"name": "Nina", "email": "nina@example.com", "password": "staple battery horse"}
    Client().post(link, form)
    signed_in, found, made, *_ = Entry.objects.all()
    assert (found.did, found.actor.email, found.additional_data) == (
        "joined",
        form["email"],
        {"invitation": "For Nina"},
    )
    assert (made.did, made.object_repr) == ("made", "For Nina")
    assert (signed_in.did, signed_in.actor) == ("signed in as", found.actor)


def test_changes_of_how_people_sign_in_are_logged_for_the_owners_of_their_teams(
    as_user: AsUser, bob: User, organisation: Organisation, django_capture_on_commit_callbacks: Any
) -> None:
    client, password = as_user(bob), "staple battery horse"
    form = {"old_password": "correct horse battery", "new_password1": password, "new_password2": password}
    client.post(reverse("password"), form)
    client.post(reverse("account_reauthenticate"), {"password": password})
    secret = client.get(reverse("mfa_activate_totp")).context["form"].secret
    with django_capture_on_commit_callbacks(execute=True):
        client.post(reverse("mfa_activate_totp"), {"code": code(secret)})
    client.post(reverse("mfa_deactivate_totp"))
    logged = list(Entry.objects.filter(actor=bob, organisation=organisation).values_list("did", "object_repr"))
    words = ["took away a second factor of", "set up a second factor of", "changed the password of"]
    assert logged == [(word, "bob") for word in words]
    assert password not in str(list(Entry.objects.values())) and secret not in str(list(Entry.objects.values()))
    assert not Entry.objects.exclude(organisation=organisation).filter(actor=bob).exists()


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31"])
def test_any_day_narrows_the_log(as_user: AsUser, alice: User, project: Project, day: str) -> None:
    client = as_user(alice)
    found = [bool(table(client, project.organisation, **{name: day})) for name in ("since", "until")]
    assert found == [day < "2000", day > "2000"]
    assert "made" in log(client, project.organisation, since="0001-01-01", until="9999-12-31")


def test_access_of_programs_machines_and_guests_is_logged_with_its_end(
    as_user: AsUser, alice: User, project: Project
) -> None:
    client, team = as_user(alice), project.organisation
    token, _ = issue(alice, team, "Nightly", ["view", "launch"], project)
    machine, _ = enrol(team, alice, "GPU box", 1)
    share, _ = links.issue(project, alice, SharedPage(Share.Kind.RUN, "runs/1/", "", resolve("/")))
    for _ in range(2):
        client.post(reverse("api-token-revoke", args=["acme", token.pk]))
        client.post(reverse("enrolment-revoke", args=[*project.path, machine.pk]))
        client.post(reverse("share-withdraw", args=[*project.path, share.pk]))
    logged = [(row["did"], row["kind"]) for row in table(client, team)]
    assert logged[:6] == [
        *[("withdrew", "share link"), ("revoked", "machine"), ("revoked", "API token")],
        *[("shared", "share link"), ("enrolled", "machine"), ("made", "API token")],
    ]
    assert [row["person"] for row in table(client, team)][:3] == ["alice"] * 3
    stored = str(list(Entry.objects.values()))
    assert not {token.hash, machine.hash, share.hash} & {*re.findall(r"\w+", stored)}


def test_no_secret_is_ever_written_down(
    as_user: AsUser, alice: User, mary: User, organisation: Organisation, project: Project, settings: Any, tmp_path: Any
) -> None:
    settings.PROVE_DATA = tmp_path
    client, names = as_user(alice), furnish(project, mary)
    added = memberships.add(organisation, "nina@example.com", Role.VIEWER)
    invitation, text = invitations.invite(organisation, alice, InvitationRequest(role="viewer"))
    page = client.post(
        reverse("session-token", args=[*project.path, names["session"]]), {"name": "Desk", "writes": "on"}
    ).content.decode()
    stored = str(list(Entry.objects.values()))
    secrets = [added.password, text, invitation.hash, alice.password, *re.findall(r"/mcp/s/([\w-]{20,})", page)]
    assert [secret for secret in secrets if secret in stored] == []
    assert "hash" not in {name for each in MODELS.values() for name in each.fields.split()}


def test_the_entries_of_a_team_are_seen_by_no_other(
    as_user: AsUser, alice: User, charlie: User, organisation: Organisation
) -> None:
    other = Organisation.objects.get(slug="other")
    audit.note(charlie, "whispered to", Membership.objects.get(user=charlie), other)
    ours, theirs = (log(as_user(one), where) for one, where in ((alice, organisation), (charlie, other)))
    assert "whispered" in theirs and "whispered" not in ours and "charlie" not in ours
    assert not {*deeds(log(as_user(alice), organisation, person=str(charlie.pk), did="whispered to"))} & {
        ("charlie", "whispered to")
    }
    assert table(as_user(alice), organisation) and "charlie" not in str(table(as_user(alice), organisation))


@pytest.mark.parametrize("number", [0, 60])
def test_a_page_of_the_log_takes_as_many_queries_however_many_entries_there_are(
    number: int, as_user: AsUser, alice: User, project: Project
) -> None:
    for _ in range(number):
        audit.note(alice, "noted", project, project.organisation)
    client = as_user(alice)
    log(client, project.organisation)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        page = log(client, project.organisation)
    assert len(queries) <= 12
    assert ("1 to 50 of" in page) is (number == 60)


def test_a_note_costs_one_query(alice: User, project: Project, django_assert_num_queries: Any) -> None:
    audit.note(alice, "noted", project, project.organisation)
    with django_assert_num_queries(1):
        audit.note(alice, "noted", project, project.organisation, before_and=("a", "b"))


def test_looking_writes_nothing_down(as_user: AsUser, alice: User, project: Project) -> None:
    client, before = as_user(alice), Entry.objects.count()
    for page in (project.get_absolute_url(), "/acme/", "/acme/audit/", "/acme/audit/export/"):
        assert client.get(page).status_code == 200
    assert Entry.objects.count() == before


def test_the_export_is_what_the_page_shows_and_no_formula(
    as_user: AsUser, alice: User, bob: User, organisation: Organisation
) -> None:
    project = Project.objects.create(organisation=organisation, slug="sums", name="=SUM(A1)")
    audit.note(bob, "noted", project, organisation, amount=("=1+1", "2"))
    (row,) = table(as_user(alice), organisation, did="noted")
    assert row["person"] == "bob" and row["thing"] == "'=SUM(A1)" and row["changes"] == "amount: =1+1 → 2"
    assert len(table(as_user(alice), organisation)) == Entry.objects.filter(organisation=organisation).count()


def test_what_is_deleted_archived_and_closed_is_called_so_and_its_undoing_too(alice: User, project: Project) -> None:
    queue = queue_of(project, alice, 1)
    dataset = Dataset.objects.first()
    for thing, field, words in (
        (dataset, "deleted_at", ("deleted", "restored")),
        (queue, "closed_at", ("closed", "opened again")),
    ):
        for value, word in zip((timezone.now(), None), words, strict=True):
            setattr(thing, field, value)
            thing.save()
            assert (newest().did, newest().object_repr) == (word, str(thing))


def test_what_leaves_the_site_and_who_is_let_in_is_logged_without_its_secrets(
    as_user: AsUser, alice: User, project: Project, settings: Any, tmp_path: Any
) -> None:
    settings.PROVE_DATA = tmp_path
    names = furnish(project, alice)
    client = as_user(alice)
    hashes = [each.objects.get().hash for each in (ApiToken, Enrolment, Share)]
    posted = {
        reverse("api-token-revoke", args=["acme", names["api_token"]]): "revoked",
        reverse("enrolment-revoke", args=["acme", "demo", names["enrolment"]]): "revoked",
        reverse("share-withdraw", args=["acme", "demo", names["share"]]): "withdrew",
    }
    for url, did in posted.items():
        for _ in range(2):  # logged once, however often it is requested
            assert client.post(url).status_code == 302
        assert (newest().did, newest().actor) == (did, alice)
    assert Entry.objects.filter(did__in=["revoked", "withdrew"]).count() == len(posted)
    read = ("runs/1/rollouts/3/export.csv", "runs/1/checkpoints/3/", "datasets/export/?dataset=1&format=jsonl")
    for count, url in enumerate((*read, "review/1/labels/csv/"), 1):
        assert client.get(f"/acme/demo/{url}").status_code == 200, url
        assert Entry.objects.filter(did="exported", actor=alice).count() == count, url
    written = str(list(Entry.objects.values()))
    assert [each for each in hashes if each in written] == []


def test_what_is_done_to_runs_on_their_table_and_in_the_bin_is_logged_run_by_run(
    as_user: AsUser, alice: User, project: Project, settings: Any, tmp_path: Any
) -> None:
    settings.PROVE_DATA = tmp_path
    furnish(project, alice)
    client = as_user(alice)
    Job.objects.exclude(state=State.DONE).update(state=State.DONE)
    acts = [("mark", "tag", "changed"), ("mark", "pin", "changed"), ("act", "archive", "archived")]
    acts += [("act", "unarchive", "unarchived"), ("act", "delete", "deleted"), ("act", "undelete", "restored")]
    for page, act, did in acts:
        client.post(f"/acme/demo/runs/{page}/", {"act": act, "runs": "1", "tag": "new"})
        found = newest()
        assert (found.did, found.actor, found.object_repr, found.project) == (did, alice, "Run", project), act
    deletion = delete(Run.objects.get(project=project), alice)
    Deletion.objects.filter(pk=deletion.pk).update(at=timezone.now() - timedelta(days=400))
    purge()
    gone = Entry.objects.filter(did="removed", content_type__model="run")
    assert [(one.object_repr, one.actor) for one in gone] == [("Run", None)]


def test_an_entry_outlives_its_project_and_its_people(
    as_user: AsUser, alice: User, mary: User, project: Project, settings: Any, tmp_path: Any
) -> None:
    settings.PROVE_DATA = tmp_path
    queue_of(project, mary, 1)
    with audit.override_actor(mary):
        Queue.objects.first().delete()
    gone = project.pk
    project.jobs.all().delete()
    project.delete()
    mary.delete()
    connection.check_constraints()
    assert Entry.objects.filter(project_id=gone).exists()
    page = log(as_user(alice), Organisation.objects.get(slug="acme"))
    assert "mary@example.com" in page and "removed" in page


def test_what_a_program_does_is_the_sites_doing(organisation: Organisation) -> None:
    Project.objects.create(organisation=organisation, slug="made", name="Made")
    found = newest()
    assert (found.actor, found.cid, found.remote_addr, found.did) == (None, None, None, "made")
    with audit.override_actor(AnonymousUser()):
        Project.objects.create(organisation=organisation, slug="again", name="Again")
    assert newest().actor is None


def test_every_watched_model_finds_the_team_it_belongs_to(
    mary: User, project: Project, settings: Any, tmp_path: Any
) -> None:
    settings.PROVE_DATA = tmp_path
    furnish(project, mary)
    kinds = {*Entry.objects.filter(organisation=project.organisation).values_list("content_type__model", flat=True)}
    expected = {label.split(".")[1].lower() for label, each in MODELS.items() if each.fields}
    assert expected - kinds == {"environment", "acceptance"}, "those two nobody has furnished"
