"""The site reserves the last of the disk: it refuses, with a reason, what would use it, and leaves no partial file."""

from __future__ import annotations

import os
import time
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from prove_web.accounts.models import Project, User
from prove_web.core import disk_guard
from prove_web.experiments.exports import Export, make
from prove_web.live.models import State
from prove_web.operations.backups.archive import BackupFailed
from prove_web.operations.backups.create_backup import backup, leave_room
from prove_web.trajectories import uploads
from prove_web.trajectories.tasks import work
from prove_web.trajectories.versions import keep_chosen
from training_worker.core.disk_quota import GB, NoDiskSpace, get_reserved_gb, require_disk_space
from training_worker.jobs.failure import explain
from training_worker.jobs.job_context import EventLog
from training_worker.jobs.spool import SpoolWriter
from training_worker.training.stop_signal import Stop

from .examples import dataset_of, examples
from .joining import run

Usage = namedtuple("Usage", "total used free")
pytestmark = pytest.mark.django_db


@pytest.fixture
def data(settings: LazySettings, tmp_path: Path) -> Path:
    settings.PROVE_DATA = tmp_path / "site"
    settings.PROVE_DATA.mkdir()
    return tmp_path / "site"


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that sets how many bytes the disk has free."""

    def has(free: int) -> None:
        monkeypatch.setattr("shutil.disk_usage", lambda folder: Usage(10**12, 0, free))

    return has


@given(free=st.integers(0, 10**13), size=st.integers(0, 10**13), reserved=st.floats(0, 100))
def test_a_file_is_refused_exactly_if_it_would_use_the_reserve(free: int, size: int, reserved: float) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("shutil.disk_usage", lambda folder: Usage(10**14, 0, free))
        try:
            require_disk_space("it", size, Path("/not/there/yet"), reserved)
        except NoDiskSpace as why:
            assert free - size < reserved * GB
            texts = ("Not enough disk space for it", "are free", "reserved for the site", "Delete")
            assert all(text in str(why) for text in texts)
        else:
            assert free - size >= reserved * GB


def test_a_worker_reserves_what_its_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, reserved in (("", 2), ("7", 7), ("0.5", 0.5), ("-3", 0), ("much", 2)):
        monkeypatch.setenv("PROVE_FREE_GB", value)
        assert get_reserved_gb() == reserved


def test_imports_that_were_promised_room_have_it(project: Project, data: Path, disk: Callable[[int], None]) -> None:
    disk(2 * GB + 1000)
    first = uploads.begin(project, "first.csv", 300)
    uploads.begin(project, "second.csv", 200)
    with pytest.raises(NoDiskSpace, match=r"“third\.csv”"):
        uploads.begin(project, "third.csv", 1)
    assert len(list(uploads.root().iterdir())) == 2
    first.forget()
    assert uploads.begin(project, "third.csv", 300).size == 300


def test_a_piece_that_does_not_fit_on_the_disk_leaves_no_part(project: Project, data: Path) -> None:
    begun = uploads.begin(project, "rows.csv", 100)
    begun.add(0, [b"x" * 10])

    def broken() -> Iterator[bytes]:
        yield b"y" * 20
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        begun.add(10, broken())
    assert begun.content.read_bytes() == b"x" * 10


def test_the_page_of_imports_says_what_is_free_and_what_to_do(
    project: Project, mary: User, as_user: Callable[[User], Client], data: Path, disk: Callable[[int], None]
) -> None:
    disk(GB)
    form = {"name": "rows.csv", "size": "50000000"}
    answer = as_user(mary).post(reverse("import-new", args=project.path), form)
    said = answer.json()["error"]
    assert answer.status_code == 422 and "1.0 GB are free" in said and "0.1 GB" in said and "PROVE_FREE_GB" in said


def test_a_refused_export_leaves_the_existing_one(
    project: Project, mary: User, as_user: Callable[[User], Client], broker: str, data: Path, disk: Any
) -> None:
    job = run(project)
    folder = job.out / "checkpoints" / "checkpoint-2"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"x" * 5000)
    (folder / "progress.json").write_text("{}")
    old = Export(job, 1).folder
    old.mkdir(parents=True)
    disk(2 * GB + 4999)
    address = reverse("checkpoint-export-make", args=[*project.path, job.run.number, 2])
    answer = as_user(mary).post(address, follow=True)
    assert "Not enough disk space for the export of checkpoint 2" in answer.content.decode() and old.is_dir()
    make(Export(job, 2))
    assert "Not enough disk space" in Export(job, 2).why and not Export(job, 2).ready, (
        "it filled up before its turn came"
    )


def test_a_data_set_fails_with_the_reason_and_leaves_no_rows(project: Project, data: Path, disk: Any) -> None:
    source = dataset_of(project, examples()[:5])
    made = dataset_of(project, state=State.STARTING, spec={"curate": {"how": "version"}})
    made.job.folder.mkdir(parents=True)
    keep_chosen(made.job, list(source.trajectories.values_list("pk", flat=True)))
    disk(GB)
    work(made.job)
    made.job.refresh_from_db()
    assert made.job.state == State.FAILED and "Not enough disk space for a dataset" in made.job.error
    assert not list(made.job.out.glob("*.jsonl*")) and not made.trajectories.exists()


def test_a_job_of_a_worker_ends_with_a_reason_where_the_disk_runs_low(tmp_path: Path, disk: Any) -> None:
    tell = EventLog(SpoolWriter(tmp_path / "events-1.jsonl"), Stop(), 1)
    tell.progress(1, 2, "on its way")
    disk(GB)
    with pytest.raises(NoDiskSpace) as why:
        tell.progress(2, 2, "on its way")
    said = explain(why.value, tmp_path)
    assert "1.0 GB are free" in said and "resume: finished work is kept" in said


def test_a_backup_on_the_sites_disk_leaves_the_last_of_it(data: Path, disk: Any) -> None:
    disk(GB)
    with pytest.raises(BackupFailed, match="Or choose a file on another disk"):
        leave_room(data, data / "prove.sqlite3")
    with pytest.raises(BackupFailed):
        backup(data / "site.tar.zst", (), lambda done, total: None)
    assert list(data.iterdir()) == []


def test_a_folder_is_measured_even_if_files_disappear_meanwhile(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"x" * 7)
    assert disk_guard.size_of([tmp_path, tmp_path / "gone"]) == 7 and disk_guard.bytes_of(tmp_path / "gone") == 0


def test_what_one_project_announces_leaves_half_of_the_room_to_the_others(
    project: Project, data: Path, disk: Callable[[int], None]
) -> None:
    disk(2 * GB + 1000)
    other = Project.objects.create(organisation=project.organisation, slug="two", name="Two")
    uploads.begin(other, "all of it", 499)
    with pytest.raises(NoDiskSpace):
        uploads.begin(other, "and more", 2)
    assert uploads.begin(project, "mine", 250).size == 250
    with pytest.raises(NoDiskSpace):
        uploads.begin(project, "more than the other half", 1)


def test_an_announcement_holds_room_for_half_an_hour_and_is_forgotten_where_nothing_came(
    project: Project, data: Path, disk: Callable[[int], None]
) -> None:
    disk(2 * GB + 1000)
    empty, begun = uploads.begin(project, "nothing came", 250), uploads.begin(project, "some came", 250)
    begun.add(0, [b"x"])
    assert uploads.count_reserved_bytes(project) == 999
    for one in (empty, begun):
        os.utime(one.folder / uploads.ABOUT, (0, time.time() - uploads.HELD_SECONDS - 1))
    assert uploads.count_reserved_bytes(project) == 0
    uploads.begin(project, "new", 400)
    assert not empty.folder.exists() and begun.folder.exists()
    assert begun.add(1, [b"x"]) == 2, "who goes on with it may, as long as there is room"


def test_a_project_has_a_few_files_on_their_way(project: Project, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MOST_UPLOADS", 2)
    other = Project.objects.create(organisation=project.organisation, slug="two", name="Two")
    begun = [uploads.begin(project, "a", 1) for _ in range(2)]
    with pytest.raises(uploads.NotTaken, match="2 pending uploads"):
        uploads.begin(project, "a", 1)
    uploads.begin(other, "a", 1)
    begun[0].forget()
    uploads.begin(project, "a", 1)
