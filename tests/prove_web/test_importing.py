"""A data set that was made is loaded completely and once, or fails with a reason."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from prove_web.accounts.models import Project
from prove_web.live import message_broker, tasks
from prove_web.live.ingest import record
from prove_web.live.models import Job, State
from prove_web.trajectories import bulk_load
from prove_web.trajectories.load_dataset import import_dataset, row
from prove_web.trajectories.models import Dataset
from training_worker.core.trajectory import Example, loads, write_lines

from .examples import chain, dataset_of, examples
from .story import ended, event, run_job

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]

TRAIN, HELD_OUT = 5, 2  # conversations in the data set that was made


@pytest.fixture(autouse=True)
def own_folder(settings: Any, tmp_path: Path) -> None:
    settings.PROVE_DATA = tmp_path


def made(project: Project, state: State = State.DONE) -> Dataset:
    """Create a data set whose worker has written its files."""
    dataset = dataset_of(project, state=state)
    dataset.job.out.mkdir(parents=True)
    train, held_out = conversations()
    write_lines(dataset.job.out / "train.jsonl", train)
    write_lines(dataset.job.out / "held_out.jsonl", held_out)
    return dataset


def conversations() -> tuple[list[Example], list[Example]]:
    """Return the conversations of both splits."""
    held_out = examples()[TRAIN : TRAIN + HELD_OUT]
    return list(examples()[:TRAIN]), [replace(example, split="held_out") for example in held_out]


def test_all_trajectories_are_loaded_in_the_order_they_were_made(project: Project) -> None:
    dataset = made(project)
    import_dataset(str(dataset.job_id))
    rows = list(dataset.trajectories.all())
    train, held_out = conversations()
    assert [loads(Example, json.dumps(row.record)) for row in rows] == [*train, *held_out]
    assert [row.split for row in rows] == ["train"] * TRAIN + ["held_out"] * HELD_OUT


def test_lists_and_searches_find_what_an_example_is_about(project: Project) -> None:
    example = chain()
    found = row(dataset_of(project), example)
    assert (found.example, found.steps, found.query) == (example.id, len(example.steps), example.turns[0])
    assert found.tools.split(",") == [call.name for step in example.steps for call in step.calls]
    assert found.servers.split(",") == list(example.world.servers)


def test_loading_twice_changes_nothing(project: Project) -> None:
    dataset = made(project)
    import_dataset(str(dataset.job_id))
    before = list(dataset.trajectories.values_list("pk", flat=True))
    import_dataset(str(dataset.job_id))
    assert list(dataset.trajectories.values_list("pk", flat=True)) == before


def test_a_large_one_is_loaded_in_batches(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_load, "BATCH", 3)
    dataset = made(project)
    with CaptureQueriesContext(connection) as queries:
        import_dataset(str(dataset.job_id))
    inserts = [query for query in queries if query["sql"].startswith('INSERT INTO "trajectories_trajectory"')]
    assert len(inserts) == 3 and dataset.trajectories.count() == TRAIN + HELD_OUT


def test_the_end_of_its_job_has_it_loaded(project: Project) -> None:
    dataset = made(project, State.QUEUED)
    record(str(dataset.job_id), 1, [event(1, "started", host="here", pid=1), ended(2, counts={})])
    assert message_broker.broker().llen("web") == 1
    tasks.job_done(str(dataset.job_id))
    assert dataset.trajectories.count() == TRAIN + HELD_OUT


@pytest.mark.parametrize(("missing", "names"), [(True, "train.jsonl"), (False, "held_out.jsonl, line 1")])
def test_one_that_cannot_be_read_has_failed_and_says_why(project: Project, missing: bool, names: str) -> None:
    dataset = made(project)
    if missing:
        shutil.rmtree(dataset.job.out)
    else:
        (dataset.job.out / "held_out.jsonl").write_text("nonsense\n")
    import_dataset(str(dataset.job_id))
    job = Job.objects.get(pk=dataset.job_id)
    assert job.state == State.FAILED and names in job.error
    assert not dataset.trajectories.exists()


def test_what_is_no_data_set_or_not_done_has_nothing_to_load(project: Project) -> None:
    run, unfinished = run_job(project, state=State.DONE), made(project, State.RUNNING)
    for job_id in (run.id, unfinished.job_id):
        import_dataset(str(job_id))
        assert Job.objects.get(pk=job_id).state in (State.DONE, State.RUNNING)
    assert not unfinished.trajectories.exists()
