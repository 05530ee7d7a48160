"""Notifications inform a person of what concerns them, once, as long as they may see it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from django.utils import timezone

from prove_web.accounts.models import Membership, Project, User
from prove_web.live.models import Job, Kind, State
from prove_web.review.models import Item, Notification, Queue
from prove_web.review.notifications import list_notifications, notify
from prove_web.review.schema import PLAIN

from .examples import chain, dataset_of

pytestmark = pytest.mark.django_db
SignIn = Callable[[User], Client]
HERE, BELL, READ = "/account/notifications/", "/account/notifications/bell/", "/account/notifications/read/"


def texts_of(user: User) -> list[str]:
    return [one.text for one in list_notifications(user)]


def test_a_person_is_notified_once_until_they_have_read_it(project: Project, bob: User) -> None:
    for _ in range(3):
        notify([bob, bob.pk, None], project, "News", "/acme/demo/")
    assert texts_of(bob) == ["News"]
    notify([bob], project, "News", "/acme/demo/runs/")
    Notification.objects.update(read_at=timezone.now())
    notify([bob], project, "News", "/acme/demo/")
    assert texts_of(bob) == ["News"] * 3


def test_strangers_and_former_members_are_not_notified(
    project: Project, bob: User, charlie: User, as_user: SignIn
) -> None:
    notify([bob, charlie], project, "A secret of the team", "/acme/demo/")
    assert texts_of(charlie) == [] and not Notification.objects.filter(user=charlie).exists()
    bobs = as_user(bob)
    assert "A secret of the team" in bobs.get(HERE).text and ">1<" in bobs.get(BELL).text
    number = Notification.objects.get().pk
    Membership.objects.filter(user=bob).delete()
    assert "A secret" not in bobs.get(HERE).text and ">1<" not in bobs.get(BELL).text
    assert bobs.post(READ, {"notification": number}).status_code == 404
    bobs.post(READ)
    assert Notification.objects.get().read_at is None
    notify([bob], project, "More", "/acme/demo/")
    assert Notification.objects.count() == 1, "who has left is told nothing new"


def test_the_bell_counts_over_all_projects_without_a_query_of_its_own(
    project: Project, bob: User, as_user: SignIn, django_assert_num_queries: Callable[[int], object]
) -> None:
    other = Project.objects.create(organisation=project.organisation, slug="second", name="Second")
    bobs = as_user(bob)
    bobs.get(project.get_absolute_url())
    with django_assert_num_queries(3):
        bobs.get("/account/password/")
    for number in range(3):
        notify([bob], project, f"News {number}", "/acme/demo/")
        notify([bob], other, f"News {number}", "/acme/second/")
    Notification.objects.filter(project=other).first().delete()
    with django_assert_num_queries(3):
        page = bobs.get("/account/password/").text
    assert "Notifications, 5 unread" in page


def test_one_goes_to_what_it_is_about_and_it_is_read(project: Project, bob: User, alice: User, as_user: SignIn) -> None:
    notify([bob], project, "<i>Look</i>", "/acme/demo/runs/")
    number, bobs = Notification.objects.get().pk, as_user(bob)
    assert "&lt;i&gt;Look&lt;/i&gt;" in bobs.get(HERE).text
    assert as_user(alice).post(READ, {"notification": number}).status_code == 404, "it is not theirs"
    assert bobs.post(READ, {"notification": "x" * 30}).status_code == 404
    assert bobs.post(READ, {"notification": number}).headers["Location"] == "/acme/demo/runs/"
    assert "No unread notifications" in bobs.get(HERE, {"show": "unread"}).text and "Look" in bobs.get(HERE).text


def test_all_are_marked_read_and_one_can_be_without_going_there(project: Project, bob: User, as_user: SignIn) -> None:
    for number in range(3):
        notify([bob], project, f"News {number}", "/acme/demo/")
    bobs = as_user(bob)
    stayed = bobs.post(READ, {"notification": Notification.objects.first().pk, "stay": "1"})
    assert stayed.headers["Location"] == HERE and list_notifications(bob).filter(read_at=None).count() == 2
    bobs.post(READ)
    assert not list_notifications(bob).filter(read_at=None).exists()


def test_an_address_outside_of_the_site_is_not_followed(project: Project, bob: User, as_user: SignIn) -> None:
    for url in ("//example.com/", "https://example.com/", "javascript:alert(1)"):
        notify([bob], project, "News", url)
    for one in Notification.objects.all():
        assert as_user(bob).post(READ, {"notification": one.pk}).headers["Location"] == HERE


def queue_of(project: Project, maker: User, items: int = 3) -> list[Item]:
    dataset = dataset_of(project, [chain(2)], by=maker)
    trajectory = dataset.trajectories.get()
    queue = Queue.objects.create(project=project, number=1, name="First", schema=PLAIN.model_dump())
    for number in range(1, items):
        trajectory.pk, trajectory.example = None, f"copy-{number}"
        trajectory.save()
    rows = enumerate(dataset.trajectories.all(), 1)
    return [Item.objects.create(queue=queue, position=at, trajectory=one) for at, one in rows]


def test_assigned_items_notify_once_per_queue(project: Project, alice: User, bob: User) -> None:
    for item in queue_of(project, alice):
        item.assigned.add(bob)
    assert texts_of(bob) == ["Items of “First” are assigned to you"]


def test_a_conflict_notifies_those_who_may_adjudicate(project: Project, alice: User, mary: User, bob: User) -> None:
    for item in queue_of(project, alice):
        item.state = Item.State.CONFLICT
        item.save()
    assert texts_of(alice) == texts_of(mary) == ["“First” has conflicts to adjudicate"] and texts_of(bob) == []


def test_a_verdict_notifies_the_maker_of_the_data_set(project: Project, alice: User, mary: User) -> None:
    for item in queue_of(project, mary):
        item.state, item.verdict, item.settled_by = Item.State.SETTLED, "accept", alice
        item.save()
    assert texts_of(mary) == ["“First” has decisions on your data set “Data set 1”"] and texts_of(alice) == []


@pytest.mark.parametrize(
    ("state", "words"), [(State.DONE, "is done"), (State.FAILED, "failed"), (State.LOST, "was lost")]
)
def test_the_end_of_a_data_set_or_a_run_notifies_its_launcher_once(
    state: State, words: str, project: Project, bob: User
) -> None:
    job = Job.objects.create(project=project, kind=Kind.RUN, title="First", created_by=bob)
    assert texts_of(bob) == []
    job.state, job.ended_at = state, timezone.now()
    job.save()
    Notification.objects.update(read_at=timezone.now())
    job.save()
    assert texts_of(bob) == [f"Your run “First” {words}"]


def test_a_job_that_somebody_stopped_or_that_nobody_waits_for_notifies_nobody(project: Project, bob: User) -> None:
    made = {"project": project, "title": "First", "created_by": bob, "ended_at": timezone.now()}
    Job.objects.create(kind=Kind.RUN, state=State.STOPPED, **made)
    Job.objects.create(kind=Kind.GRAPH, state=State.DONE, **made)
    assert texts_of(bob) == []
