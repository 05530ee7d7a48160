"""A deleted object appears nowhere, is restored as it was, and is purged alone once its time in the bin is over."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import LazySettings
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from prove_web.accounts.models import Organisation, Project, User
from prove_web.experiments.models import Run
from prove_web.experiments.run_launch import next_number
from prove_web.live.models import Job, State
from prove_web.live.socket_permissions import Topic, get_permitted_users
from prove_web.review.models import Notification, Queue
from prove_web.review.notifications import notify
from prove_web.sharing import sequences, trash_purge
from prove_web.sharing.models import Deletion
from prove_web.sharing.soft_delete import InUse, TooLate, delete, restore
from prove_web.trajectories.models import Dataset, Trajectory

from .furnished import furnish

AsUser = Callable[[User], Client]
OURS = (
    "accounts",
    "live",
    "servers",
    "environments",
    "trajectories",
    "review",
    "experiments",
    "evaluations",
    "sharing",
)
LISTS = ("", "jobs/", "runs/", "datasets/", "trajectories/", "find/?q=Run", "find/?q=Data", "runs/new/", "what-if/")
LISTS += ("sweeps/1/", "evaluations/", "review/new/", "datasets/mix/", "tools/", "environments/")


@pytest.fixture
def names(project: Project, mary: User, settings: LazySettings, tmp_path: Path) -> dict[str, Any]:
    settings.PROVE_DATA = tmp_path / "data"
    made = furnish(project, mary)
    Queue.objects.filter(project=project).update(closed_at=timezone.now())
    Job.objects.filter(project=project).update(state=State.DONE)
    return made


def run_of(project: Project) -> Run:
    found: Run = Run.everything.get(project=project, number=1)
    return found


def dataset_of(project: Project) -> Dataset:
    found: Dataset = Dataset.everything.get(project=project, number=1)
    return found


def spent(deletion: Deletion) -> None:
    """Let the time of a deletion in the bin run out."""
    Deletion.objects.filter(pk=deletion.pk).update(at=timezone.now() - timedelta(days=15))


def seen(client: Client) -> dict[str, str]:
    """Return every list as text, without what changes from one request to the next."""
    found = {}
    for page in LISTS:
        answer = client.get(f"/acme/demo/{page}")
        text = re.sub(
            r'nonce="[^"]*"|csrf[^"]*" value="[^"]*"|X-CSRFToken": "[^"]*"|in [\d.]+ s\.', "", answer.content.decode()
        )
        found[page] = f"{answer.status_code} {text}"
    return found


@pytest.mark.long
@pytest.mark.parametrize("thing_of", [run_of, pytest.param(dataset_of, marks=pytest.mark.long)])
def test_what_is_deleted_and_restored_is_as_it_was(
    thing_of: Callable[[Project], Any], project: Project, mary: User, names: dict[str, Any], as_user: AsUser
) -> None:
    client = as_user(mary)
    page = thing_of(project).get_absolute_url()
    assert client.get(page).status_code == 200  # the visit ticks off a first step on the home page
    before = seen(client)
    deletion = delete(thing_of(project), mary)
    gone = seen(client)
    assert client.get(page).status_code == 404 and gone != before
    restore(deletion)
    assert seen(client) == before and client.get(page).status_code == 200
    restore(deletion)
    assert seen(client) == before


def addresses(thing: str, names: dict[str, Any]) -> list[str]:
    """Return the address of every page whose URL names this kind of object."""
    from django.urls import get_resolver

    from .test_permissions import address, pages

    return [
        address(page, names)
        for page in pages(get_resolver())
        if thing in page.parts and page.name not in ("run-delete", "dataset-delete")
    ]


def test_no_page_about_a_deleted_thing_is_found(
    project: Project, mary: User, names: dict[str, Any], as_user: AsUser
) -> None:
    client = as_user(mary)
    run, dataset = run_of(project), dataset_of(project)
    delete(run, mary)
    jobs = [reverse(page, args=[*project.path, run.job_id]) for page in ("job", "job-log")]
    for url in [*addresses("run", names), *jobs]:
        assert {client.get(url).status_code, client.post(url).status_code} <= {404, 405}, url
    delete(dataset, mary)
    for url in addresses("dataset", names):
        assert {client.get(url).status_code, client.post(url).status_code} <= {404, 405}, url


def allowed_to_see(user: User, topic: Topic) -> bool:
    return bool(get_permitted_users(topic, [user.pk]))


def test_no_socket_reports_what_is_deleted(project: Project, mary: User, names: dict[str, Any]) -> None:
    run, dataset = run_of(project), dataset_of(project)
    trajectory = Trajectory.objects.get(dataset=dataset)
    of_run = ("job", str(run.job_id))
    of_data = [("job", str(dataset.job_id)), ("trajectory", str(trajectory.pk))]
    rest = [("project", str(project.pk)), ("session", str(names["session"]))]
    assert all(allowed_to_see(mary, topic) for topic in [of_run, *of_data, *rest])
    delete(run, mary)
    assert not allowed_to_see(mary, of_run) and all(allowed_to_see(mary, topic) for topic in [*of_data, *rest])
    delete(dataset, mary)
    assert not any(allowed_to_see(mary, topic) for topic in of_data)
    delete(project, mary)
    assert not any(allowed_to_see(mary, topic) for topic in rest)


def test_a_run_names_the_deleted_data_set_that_it_used(
    project: Project, mary: User, names: dict[str, Any], as_user: AsUser
) -> None:
    delete(dataset_of(project), mary)
    client = as_user(mary)
    for page in ("runs/1/", "runs/1/rollouts/3/1/", "runs/"):
        answer = client.get(f"/acme/demo/{page}")
        assert answer.status_code == 200
    assert "(deleted)" in client.get("/acme/demo/runs/1/").content.decode()


@pytest.mark.parametrize("state", [State.QUEUED, State.STARTING, State.RUNNING, State.STOPPING])
def test_what_is_at_work_or_needed_by_it_stays(
    state: State, project: Project, mary: User, names: dict[str, Any], as_user: AsUser
) -> None:
    run, dataset = run_of(project), dataset_of(project)
    Job.objects.filter(pk=run.job_id).update(state=state)
    for url, thing in (("bin/runs/1/", run), ("bin/datasets/1/", dataset)):
        answer = as_user(mary).post(f"/acme/demo/{url}")
        messages = [str(one) for one in get_messages(answer.wsgi_request)]
        assert answer.status_code == 302 and answer.url == thing.get_absolute_url()
        assert (len(messages) == 1 and "stop" in messages[0]) or "run 1" in messages[0]
    with pytest.raises(InUse):
        delete(project, mary)
    assert Run.objects.filter(pk=run.pk).exists() and Dataset.objects.filter(pk=dataset.pk).exists()


def test_what_waits_for_a_run_keeps_it(project: Project, mary: User, names: dict[str, Any]) -> None:
    run = run_of(project)
    evaluation = run.evaluations.get()
    Job.objects.filter(pk=evaluation.job_id).update(state=State.QUEUED)
    with pytest.raises(InUse, match=f"evaluation {evaluation.number}"):
        delete(run, mary)
    Job.objects.filter(pk=evaluation.job_id).update(state=State.DONE)
    job = Job.objects.create(project=project, kind="run", title="Next", spec={"policy": f"run:{run.job_id}"})
    Run.objects.create(project=project, number=2, name="Next", dataset=run.dataset, job=job)
    with pytest.raises(InUse, match="run 2"):
        delete(run, mary)


def test_an_open_queue_keeps_its_data_set(project: Project, mary: User, names: dict[str, Any]) -> None:
    Queue.objects.filter(project=project).update(closed_at=None)
    with pytest.raises(InUse, match="review queue 1"):
        delete(dataset_of(project), mary)


def test_no_notification_names_a_deleted_data_set(project: Project, mary: User, names: dict[str, Any]) -> None:
    queue, dataset = Queue.objects.get(project=project), Dataset.objects.get(number=names["dataset"], project=project)
    queue.closed_at = timezone.now()
    queue.save()
    for title in (str(dataset), f"{dataset} 2"):
        notify([mary], project, f"“{queue}” has decisions on your data set “{title}”", queue.get_absolute_url())
    delete(dataset, mary)
    left = [each.text for each in Notification.objects.filter(url=queue.get_absolute_url()) if "data set" in each.text]
    assert left == [f"“{queue}” has decisions on your data set “{dataset} 2”"]


def test_deleting_offers_to_undo_it_and_twice_is_once(
    project: Project, mary: User, names: dict[str, Any], as_user: AsUser
) -> None:
    client = as_user(mary)
    for _ in range(2):
        html = client.post("/acme/demo/bin/runs/1/", follow=True).content.decode()
        undo = re.search(r'action="(/acme/demo/bin/\d+/restore/)"', html)
        assert undo and Deletion.objects.filter_in_trash().filter(kind="run").count() == 1
    html = client.get("/acme/demo/bin/").content.decode()
    assert "Run 1" in html and "mary" in html
    for _ in range(2):
        assert client.post(undo[1]).url == "/acme/demo/runs/1/"
    assert client.get("/acme/demo/runs/1/").status_code == 200
    assert "Run 1" not in client.get("/acme/demo/bin/").content.decode()


def test_deleting_a_project_requires_its_name_and_restoring_brings_all_of_it_back(
    project: Project, alice: User, names: dict[str, Any], as_user: AsUser
) -> None:
    client = as_user(alice)
    before = client.get("/acme/demo/runs/").status_code
    for typed in ("", "demo", "Dem"):
        answer = client.post("/acme/demo/delete/", {"name": typed})
        assert answer.status_code == 422 and f'value="{typed}"' in answer.content.decode()
    assert client.post("/acme/demo/delete/", {"name": "Demo"}).status_code == 302
    assert client.get("/acme/demo/runs/").status_code == 404
    assert "/acme/demo/" not in client.get("/acme/").content.decode()
    assert client.post("/acme/new/", {"name": "Demo", "slug": "demo"}).status_code == 422  # its address stays reserved
    html = client.get("/acme/bin/").content.decode()
    [undo] = [each for each in re.findall(r'action="(/acme/bin/\d+/restore/)"', html) if str(names["gone"]) not in each]
    assert client.post(undo).url == "/acme/demo/"
    assert client.get("/acme/demo/runs/").status_code == before == 200


def files(folder: Path) -> set[str]:
    return {str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file()}


def rows() -> dict[str, int]:
    tables = [table for label in OURS for table in apps.get_app_config(label).get_models()]
    return {table.__name__: table._base_manager.count() for table in tables}


def far(job: Job, storage: Path) -> Path:
    """Write a file of the job to the storage and return its path."""
    file = storage / str(job.pk) / "rollouts" / "step-000001.parquet"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"x")
    return file


@pytest.fixture
def twins(
    names: dict[str, Any],
    project: Project,
    mary: User,
    organisation: Organisation,
    settings: LazySettings,
    tmp_path: Path,
) -> Project:
    """Create another project with the same objects."""
    settings.PROVE_STORAGE = f"file://{tmp_path}/far"
    other = Project.objects.create(organisation=organisation, slug="second", name="Second")
    furnish(other, mary, number=7)
    for job in Job.objects.all():
        job.out.mkdir(parents=True, exist_ok=True)
        (job.out / "left").write_text("x")
        far(job, tmp_path / "far")
    return other


def jobs_of(project: Project) -> set[str]:
    return {str(pk) for pk in Job.objects.filter(project=project).values_list("pk", flat=True)}


def test_a_run_is_removed_with_its_files_and_nothing_else(
    project: Project, mary: User, twins: Project, tmp_path: Path
) -> None:
    run = run_of(project)
    job = str(run.job_id)
    before, counted = files(tmp_path), rows()
    spent(delete(run, mary))
    assert len(trash_purge.purge()) == 1
    assert files(tmp_path) == {each for each in before if job not in each}
    after = rows()
    lost = {name: counted[name] - after[name] for name in counted if after[name] != counted[name]}
    assert lost.pop("Deletion") == -1 and lost.pop("Entry", -1) < 0  # the deletion and its audit entries
    assert lost == {"Run": 1, "Job": 1, "Point": 1, "MetricSummary": 1, "StepRollouts": 1, "RolloutGroup": 1}
    assert trash_purge.purge() == []


@pytest.mark.parametrize("digest", ["../../jobs/*/out/left", "*", ""])
def test_what_a_machine_called_a_digest_removes_nothing_of_others(
    project: Project, mary: User, twins: Project, tmp_path: Path, digest: str
) -> None:
    run = run_of(project)
    run.stored_steps.update(digest=digest, tokens_digest=digest)
    cache = tmp_path / "data" / "cache" / "rollouts"
    cache.mkdir(parents=True)
    for job in jobs_of(twins):
        (tmp_path / "data" / "jobs" / job / "out" / "left-over").touch()
    (cache / f"{'0' * 64}-step-000001.parquet").touch()
    before = files(tmp_path)
    spent(delete(run, mary))
    assert trash_purge.purge()
    assert files(tmp_path) == {each for each in before if str(run.job_id) not in each}


def test_a_project_is_removed_with_all_that_is_in_it_and_nothing_of_another(
    project: Project, alice: User, twins: Project, tmp_path: Path
) -> None:
    mine, theirs = jobs_of(project), jobs_of(twins)
    job = Job.objects.filter(project=project).first()
    Job.objects.filter(project=project).exclude(pk=job.pk).update(after=job)
    before = files(tmp_path)
    spent(delete(project, alice))
    trash_purge.purge()
    assert not Project.everything.filter(pk=project.pk).exists()
    assert files(tmp_path) == {each for each in before if not any(one in each for one in mine)}
    assert jobs_of(twins) == theirs and Run.objects.filter(project=twins).count() == 1


def test_an_interrupted_pass_is_resumed(
    project: Project, mary: User, twins: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(project)
    deletion = delete(run, mary)
    spent(deletion)
    monkeypatch.setattr(trash_purge, "PIECE", 1)
    original, calls = trash_purge.in_pieces, []

    def cut(found: Any) -> None:
        calls.append(found)
        if len(calls) == 2:
            raise OSError("the disk is away")
        original(found)

    monkeypatch.setattr(trash_purge, "in_pieces", cut)
    assert trash_purge.purge() == [] and Run.everything.filter(pk=run.pk).exists()
    deletion.refresh_from_db()
    assert deletion.purged_at is None
    with pytest.raises(TooLate):
        restore(deletion)
    assert trash_purge.purge() and not Run.everything.filter(pk=run.pk).exists()


def test_a_storage_that_is_away_keeps_its_run_for_the_next_pass(
    project: Project, mary: User, names: dict[str, Any], settings: LazySettings
) -> None:
    settings.PROVE_STORAGE = "nowhere://bucket"
    spent(delete(run_of(project), mary))
    assert trash_purge.purge() == [] and Run.everything.filter(project=project).exists()


def test_nothing_is_removed_before_its_time(
    project: Project, mary: User, names: dict[str, Any], settings: LazySettings
) -> None:
    delete(run_of(project), mary)
    assert trash_purge.purge() == []
    settings.GRACE_DAYS = 0
    assert len(trash_purge.purge()) > 0 and not Run.everything.filter(project=project).exists()


def test_a_data_set_stays_restorable_until_the_runs_that_used_it_are_gone(
    project: Project, mary: User, names: dict[str, Any]
) -> None:
    of_data = delete(dataset_of(project), mary)
    spent(of_data)
    assert trash_purge.purge() == []
    restore(of_data)
    spent(delete(dataset_of(project), mary))
    spent(delete(run_of(project), mary))
    trash_purge.purge()
    trash_purge.purge()
    assert not Dataset.everything.filter(project=project, number=1).exists()


@pytest.mark.parametrize("gone", ["in the bin", "for good"])
def test_a_number_is_never_given_again(gone: str, project: Project, mary: User, names: dict[str, Any]) -> None:
    run, dataset = run_of(project), dataset_of(project)
    before = next_number(project), sequences.next_number(project, Dataset, Deletion.Kind.DATASET)
    for thing in (run, dataset):
        deletion = delete(thing, mary)
        if gone == "for good":
            spent(deletion)
            trash_purge.purge()
    assert (next_number(project), sequences.next_number(project, Dataset, Deletion.Kind.DATASET)) == before


def test_jobs_of_what_is_deleted_are_hidden(project: Project, mary: User, names: dict[str, Any]) -> None:
    run = run_of(project)
    assert run.job in Job.objects.not_deleted()
    delete(run, mary)
    assert run.job not in Job.objects.not_deleted() and run.job in Job.objects.all()


def test_the_beat_removes_what_is_due() -> None:
    from prove_web.celery import app

    assert app.conf.beat_schedule["purge"]["task"] == "prove_web.sharing.purge"
    app.loader.import_default_modules()
    assert "prove_web.sharing.purge" in app.tasks
