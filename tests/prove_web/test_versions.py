"""New data sets of stored trajectories: their contents, their digests, and the rows that they drop."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prove_web.accounts.models import Project, User
from prove_web.live.models import Job, State
from prove_web.live.reconcile import reconcile
from prove_web.trajectories import row_selection, tasks, versions
from prove_web.trajectories.models import Dataset, Trajectory
from prove_web.trajectories.versions import InvalidDataset, make_version
from training_worker.core.trajectory import Example, loads
from training_worker.datasets import dataset_folder
from training_worker.datasets.files import write_streamed
from training_worker.jobs.console import LOG

from ..waiting import eventually
from .examples import dataset_of, examples

pytestmark = pytest.mark.django_db
HELD = 12


@pytest.fixture(autouse=True)
def own_folder(settings: Any, tmp_path: Path) -> None:
    settings.PROVE_DATA = tmp_path


@pytest.fixture
def source(project: Project) -> Dataset:
    held_out = [replace(one, split="held_out") for one in examples()[8:HELD]]
    return dataset_of(project, [*examples()[:8], *held_out])


def records(dataset: Dataset) -> list[Example]:
    return [loads(Example, json.dumps(row.record)) for row in dataset.trajectories.all()]


def made_of(dataset: Dataset, user: User, **rest: Any) -> Dataset:
    rows = Trajectory.objects.filter(dataset=dataset)
    return make_version(dataset.project, user, "Next", rows, parent=dataset, origin={"query": ""}, **rest)


def content(dataset: Dataset) -> str:
    return str(dataset.job.result["manifest"]["content"])


def test_a_version_holds_what_was_found_with_its_files_and_says_what_it_is_of(source: Dataset, mary: User) -> None:
    rows = source.trajectories.filter(kind="chain")
    made = make_version(source.project, mary, "Chains", rows, parent=source, origin={"query": "kind:chain"})
    chains = [one for one in records(source) if one.kind == "chain"]
    assert records(made) == chains and made.number == source.number + 1
    assert (made.parent, made.origin, made.job.state) == (source, {"query": "kind:chain"}, State.DONE)
    stored = [one for split in dataset_folder.SPLITS for one in dataset_folder.examples(made.job.out, split)]
    assert stored == chains and dataset_folder.read(made.job.out).content == content(made)


def test_the_same_contents_have_the_same_digest_however_they_were_chosen(source: Dataset, mary: User) -> None:
    complete = made_of(source, mary)
    again = make_version(source.project, mary, "", complete.trajectories.order_by("-query"), origin={"query": "x"})
    fewer = make_version(source.project, mary, "", source.trajectories.exclude(example=examples()[0].id), origin={})
    assert content(complete) == content(again) != content(fewer)


def test_its_digest_is_that_of_the_worker_that_made_the_same(source: Dataset, mary: User, tmp_path: Path) -> None:
    known = write_streamed(tmp_path / "same", "recipe", {}, records(source), {})
    assert content(made_of(source, mary)) == known.content


def test_what_repeats_another_is_left_out_and_an_id_that_is_taken_gets_an_ending(source: Dataset, mary: User) -> None:
    first, other = examples()[0], examples()[20]
    more = dataset_of(source.project, [first, replace(other, id=examples()[1].id)])
    rows = Trajectory.objects.filter(dataset__in=[source, more])
    made = make_version(source.project, mary, "Both", rows, origin={})
    assert made.trajectories.count() == HELD + 1
    assert made.job.result["manifest"]["splits"]["train"]["dropped"] == {row_selection.REPEATS: 1}
    renamed = made.trajectories.last()
    assert renamed.example.startswith(f"{examples()[1].id}-") and renamed.record["id"] == renamed.example


def test_nothing_makes_no_data_set(source: Dataset, mary: User) -> None:
    with pytest.raises(InvalidDataset, match="No trajectories match"):
        make_version(source.project, mary, "None", source.trajectories.none(), origin={})
    assert Dataset.objects.count() == 1


def test_edited_trajectories_and_attempts_keep_what_they_are_of(source: Dataset, mary: User) -> None:
    first, second = source.trajectories.all()[:2]
    Trajectory.objects.filter(pk=second.pk).update(parent=first, origin={"session": 4})
    copied = made_of(source, mary).trajectories.get(example=second.example)
    assert (copied.parent, copied.origin, copied.reward) == (first, {"session": 4}, second.reward)


class TestMany:
    """A job on the web queue makes a large data set."""

    pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]

    @pytest.fixture(autouse=True)
    def few_are_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(versions, "AT_ONCE", 3)
        monkeypatch.setattr(row_selection, "TOGETHER", 2)

    @pytest.mark.long
    def test_it_is_queued_and_made_by_the_web_worker(self, source: Dataset, mary: User, broker: str) -> None:
        from prove_web.live import message_broker

        made = made_of(source, mary)
        assert made.job.state == State.QUEUED and message_broker.broker().llen("files") == 1
        tasks.curate(str(made.job_id), 1)
        job = Job.objects.get(pk=made.job_id)
        assert job.state == State.DONE and records(made) == records(source)
        assert (job.out / "train.parquet").exists() and (job.out / "README.md").exists()
        lines = (job.folder / LOG).read_text().splitlines()
        assert "attempt 1 of" in lines[0] and lines[-1].endswith("INFO done")
        tasks.curate(str(made.job_id), 1)
        assert made.trajectories.count() == HELD

    def test_a_stop_leaves_nothing_behind_and_resume_makes_it_from_the_start(self, source: Dataset, mary: User) -> None:
        from prove_web.live.jobs import request_stop, resume
        from prove_web.live.models import StopLevel

        made = made_of(source, mary)
        claimed = tasks.claim_job(str(made.job_id), 1)
        request_stop(claimed, StopLevel.NOW)
        tasks.work(claimed)
        assert Job.objects.get(pk=made.job_id).state == State.STOPPED and not made.trajectories.exists()
        resume(made.job)
        tasks.curate(str(made.job_id), 2)
        assert Job.objects.get(pk=made.job_id).state == State.DONE and made.trajectories.count() == HELD

    @pytest.mark.long
    def test_an_attempt_that_died_half_way_is_made_again(self, source: Dataset, mary: User, settings: Any) -> None:
        made = made_of(source, mary)
        tasks.claim_job(str(made.job_id), 1)
        half = source.trajectories.first()
        half.pk, half.dataset = None, made
        half.save()
        settings.LOST_AFTER_SECONDS = 0
        reconcile()
        job = Job.objects.get(pk=made.job_id)
        assert (job.state, job.attempt) == (State.QUEUED, 2)
        assert tasks.claim_job(str(made.job_id), 1) is None
        tasks.curate(str(made.job_id), 2)
        assert records(made) == records(source)

    def test_a_fault_of_ours_ends_it_as_failed_with_a_reason_and_the_traceback_in_the_log(
        self, source: Dataset, mary: User, caplog: pytest.LogCaptureFixture
    ) -> None:
        made = made_of(source, mary)
        Job.objects.filter(pk=made.job_id).update(spec={"curate": {"of": "an older release"}})
        tasks.curate(str(made.job_id), 1)
        job = Job.objects.get(pk=made.job_id)
        assert job.state == State.FAILED and "(KeyError)" in job.error and "log" in job.error
        assert any(record.exc_info for record in caplog.records if str(job.pk) in record.getMessage())
        text = (job.folder / LOG).read_text()
        assert "Traceback" in text and text.endswith(f"ERROR failed: {job.error}\n")

    def test_it_sends_heartbeats_while_it_has_nothing_to_report(self, source: Dataset, mary: User) -> None:
        made = made_of(source, mary)
        job = tasks.claim_job(str(made.job_id), 1)
        assert job.beat_at is None
        with tasks.sending_heartbeats(job, every=0.01):
            eventually(lambda: Job.objects.get(pk=job.pk).beat_at is not None)

    def test_one_whose_trajectories_are_gone_says_so(self, source: Dataset, mary: User) -> None:
        made = made_of(source, mary)
        source.trajectories.first().delete()
        tasks.curate(str(made.job_id), 1)
        job = Job.objects.get(pk=made.job_id)
        assert job.state == State.FAILED and "1 of the selected" in job.error and not made.trajectories.exists()
