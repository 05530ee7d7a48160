"""Two people in two web processes at the same time: nothing twice, nothing lost, no database error on a page.

Only PostgreSQL runs two transactions at once: test_on_postgresql.py runs these tests there.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from prove_web.accounts.models import Project, User
from prove_web.experiments import run_metadata
from prove_web.experiments.defaults import DEFAULTS
from prove_web.experiments.models import Run, RunKind
from prove_web.experiments.outside.ingest import MetricPoint, store_metric_points
from prove_web.experiments.table.bulk import bring_back
from prove_web.live.jobs import NotNow, enqueue, request_stop, resume
from prove_web.live.models import Job, Kind, State, StopLevel
from prove_web.live.priority import move, sort_by_priority
from prove_web.review import review_services
from prove_web.review.models import Acceptance, Item, Review
from prove_web.sharing.models import Deletion
from prove_web.sharing.soft_delete import InUse, delete, restore

from .examples import dataset_of
from .reviewed import given, queue_of, saying
from .together import at_once, overtaken
from .trained import run_of

pytestmark = [
    pytest.mark.skipif("postgres" not in settings.DATABASES["default"]["ENGINE"], reason="SQLite has one writer"),
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("broker"),
]
SignIn = Callable[[User], Client]


def launched(project: Project, client: Client, **other: Any) -> Any:
    form = {"name": "A run", "dataset": project.datasets.get(number=1).pk, **DEFAULTS} | other
    return client.post(reverse("run-new", args=project.path), form)


def again(run: Run) -> Run:
    return Run.everything.select_related("job", "project__organisation").get(pk=run.pk)


def test_two_launches_are_two_runs_with_two_numbers(project: Project, mary: User, as_user: SignIn) -> None:
    dataset_of(project)
    clients = [as_user(mary), as_user(mary)]
    answers = at_once(*(lambda client=client: launched(project, client) for client in clients))
    assert [answer.status_code for answer in answers] == [302, 302], answers
    assert sorted(Run.objects.values_list("number", flat=True)) == [1, 2]


def test_a_run_is_not_launched_on_a_data_set_that_goes_into_the_bin_meanwhile(
    project: Project, mary: User, as_user: SignIn
) -> None:
    dataset, client = dataset_of(project), as_user(mary)
    made, answer = overtaken(lambda: delete(dataset, mary), lambda: launched(project, client, dataset=dataset.pk))
    assert isinstance(made, Deletion)
    assert answer.status_code == 422 and not Run.everything.exists()


def test_a_data_set_stays_when_a_run_is_launched_on_it_meanwhile(project: Project, mary: User, as_user: SignIn) -> None:
    dataset, client = dataset_of(project), as_user(mary)
    answer, refused = overtaken(lambda: launched(project, client), lambda: delete(dataset, mary))
    assert answer.status_code == 302 and isinstance(refused, InUse), refused


def test_a_run_in_the_bin_is_not_resumed(project: Project, mary: User) -> None:
    run = run_of(project, state=State.STOPPED)
    one, two = again(run), again(run)
    made, refused = overtaken(lambda: delete(one, mary), lambda: resume(two.job))
    assert isinstance(made, Deletion) and isinstance(refused, NotNow), refused
    assert Job.objects.get(pk=run.job_id).state == State.STOPPED


def test_a_run_that_somebody_resumes_stays_out_of_the_bin(project: Project, mary: User) -> None:
    run = run_of(project, state=State.STOPPED)
    one, two = again(run), again(run)
    job, refused = overtaken(lambda: resume(one.job), lambda: delete(two, mary))
    assert job.state == State.QUEUED and isinstance(refused, InUse), refused
    assert not again(run).deleted_at


def test_a_run_that_two_resume_goes_on_once(project: Project) -> None:
    run = run_of(project, state=State.STOPPED)
    found = at_once(lambda: resume(again(run).job), lambda: resume(again(run).job))
    assert sum(isinstance(one, NotNow) for one in found) == 1, found
    assert Job.objects.get(pk=run.job_id).attempt == 2


def test_a_run_that_is_restored_while_somebody_deletes_it_is_restored(project: Project, mary: User) -> None:
    run = run_of(project)
    one, two = again(run), again(run)
    made, restored = overtaken(lambda: delete(one, mary), lambda: bring_back(two, None))
    assert isinstance(made, Deletion) and restored is True, restored
    assert not again(run).deleted_at


def test_a_run_that_two_restore_is_restored_and_neither_gets_an_error(project: Project, mary: User) -> None:
    run = run_of(project)
    made = delete(run, mary)
    one, two = again(run), again(run)
    first, second = overtaken(lambda: restore(made), lambda: bring_back(one, None))
    assert isinstance(first, Run) and second in (True, False), second
    assert bring_back(two, None) is False
    assert not again(run).deleted_at and not Deletion.objects.filter_in_trash().exists()


def test_a_graph_that_two_ask_for_is_proven_once(project: Project, mary: User, as_user: SignIn) -> None:
    url = reverse("graph-prove", args=project.path)
    clients = [as_user(mary), as_user(mary)]
    answers = overtaken(*(lambda client=client: client.post(url) for client in clients))
    assert [answer.status_code for answer in answers] == [302, 302], answers
    assert Job.objects.filter(kind=Kind.GRAPH).count() == 1


def test_metrics_that_two_programs_name_at_once_are_both_known(project: Project) -> None:
    run = run_of(project, state=State.RUNNING)
    Run.objects.filter(pk=run.pk).update(kind=RunKind.OUTSIDE)
    one, two = again(run), again(run)
    found = overtaken(
        lambda: store_metric_points(one, {"points": [MetricPoint(1, {"mine": 1.0}, datetime.now(UTC))]}),
        lambda: store_metric_points(two, {"points": [MetricPoint(2, {"theirs": 2.0}, datetime.now(UTC))]}),
    )
    assert found == (1, 1)
    assert set(again(run).own["points"]) == {"mine", "theirs"}
    assert list(run.points.order_by("step").values_list("step", flat=True)) == [1, 2]


def test_tags_that_two_give_a_run_are_both_there(project: Project) -> None:
    run = run_of(project)
    one, two = again(run), again(run)
    overtaken(lambda: run_metadata.change_tags(one, add=["good"]), lambda: run_metadata.change_tags(two, add=["long"]))
    assert again(run).tags == ["good", "long"]


def test_an_item_is_settled_by_as_many_reviews_as_it_takes_and_the_next_is_stored_as_extra(
    project: Project, alice: User, mary: User, bob: User
) -> None:
    item = queue_of(project, mary, items=1, reviewers=2).items.get()
    people = (alice, mary, bob)
    found = at_once(*(lambda who=who: review_services.finish(item, who, given(item, who, "accept")) for who in people))
    assert sorted(one.extra for one in found) == [False, False, True], found
    item.refresh_from_db()
    assert (item.state, item.verdict) == (Item.State.SETTLED, "accept")
    assert Review.objects.count() == 3 and Acceptance.objects.count() == 1


def test_of_two_drafts_in_two_tabs_the_later_is_refused_and_nothing_is_overwritten(
    project: Project, mary: User
) -> None:
    item = queue_of(project, mary, items=1).items.get()
    texts = ("from the first tab", "from the second tab")
    drafts = [given(item, mary, comment=text) for text in texts]
    first, second = overtaken(*(lambda one=one: review_services.save_draft(item, mary, one) for one in drafts))
    assert isinstance(second, review_services.Stale), second
    assert second.review.comment == texts[0] == first.review.comment == Review.objects.get().comment


def test_of_two_who_adjudicate_each_has_a_review_and_the_item_stands_as_the_later_one_said(
    project: Project, alice: User, mary: User, bob: User
) -> None:
    item = queue_of(project, mary, items=1, reviewers=2).items.get()
    for who, verdict in ((alice, "accept"), (bob, "reject")):
        review_services.finish(item, who, given(item, who, verdict))
    sent = [(alice, "accept"), (mary, "reject")]
    acts = [lambda who=who, said=said: settled(item, who, said) for who, said in sent]
    found = overtaken(*acts)
    assert not any(isinstance(one, Exception) for one in found), found
    item.refresh_from_db()
    assert (item.state, item.verdict, item.settled_by) == (Item.State.SETTLED, "reject", mary)
    assert item.reviews.filter(adjudicates=True).count() == 2 and not item.acceptances.exists()


def settled(item: Item, who: User, verdict: str) -> Any:
    return review_services.finish(
        item, who, review_services.Submission(saying(item, verdict), 0, 1.0), adjudicates=True
    )


def waits(project: Project, priority: int) -> Job:
    job = Job.objects.create(project=project, kind=Kind.GRAPH, title="Graph", priority=priority)
    enqueue(job)
    return job


@pytest.mark.parametrize("seed", range(2))
def test_whatever_four_people_do_to_the_queue_at_once_it_stays_in_order_and_nobody_waits_for_ever(
    project: Project, mary: User, as_user: SignIn, seed: int
) -> None:
    dataset_of(project)
    jobs = [waits(project, priority) for priority in (0, 1, 0, 2, 0, -1)]
    stopped = [run_of(project, state=State.STOPPED) for _ in range(4)]

    def person(number: int) -> Callable[[], None]:
        draw, client = Random(f"{seed} {number}"), as_user(mary)

        def acts() -> None:
            for _ in range(12):
                match draw.choice(("move", "move", "stop", "resume", "launch", "delete", "restore")):
                    case "move":
                        move(Job.objects.get(pk=draw.choice(jobs).pk), draw.choice(("up", "down", "first", "last")))
                    case "stop":
                        request_stop(again(draw.choice(stopped)).job, StopLevel.NOW)
                    case "resume":
                        quietly(lambda: resume(again(draw.choice(stopped)).job))
                    case "launch":
                        assert launched(project, client).status_code == 302
                    case "delete":
                        quietly(lambda: delete(again(draw.choice(stopped)), mary))
                    case "restore":
                        quietly(lambda: bring_back(again(draw.choice(stopped)), None))

        return acts

    def quietly(act: Callable[[], Any]) -> None:
        with suppress(NotNow, InUse):
            act()

    found = at_once(*(person(number) for number in range(4)))
    assert not [one for one in found if isinstance(one, Exception)], found
    runs = list(Run.everything.values_list("number", flat=True))
    assert len(runs) == len(set(runs)) and runs
    for run in Run.everything.exclude(deleted_at=None).select_related("job"):
        assert run.job.ended, "a run in the bin is at work"
    for queue in {job.queue for job in Job.objects.filter(state=State.QUEUED)}:
        there = [job for job in Job.objects.filter(state=State.QUEUED) if job.queue == queue]
        assert [job.pk for job in sort_by_priority(there)] == [
            job.pk for job in sorted(there, key=lambda job: job.place)
        ]
