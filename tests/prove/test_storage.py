"""The storage: every file that a run stores gets there, complete and by itself, however often it is unavailable."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import fsspec
import pytest

from tests.waiting import eventually
from training_worker.core.trajectory import file_digest
from training_worker.jobs.job_context import EventLog, JobRefusedError
from training_worker.jobs.rollout_upload import RolloutUploader
from training_worker.jobs.spool import SpoolReader, SpoolWriter
from training_worker.store import __main__ as command
from training_worker.store.cache import Cache
from training_worker.store.folder import RolloutFolder, step_name, tokens_name
from training_worker.store.parquet import DamagedFile
from training_worker.store.storage import Storage, StorageFailed, get_storage
from training_worker.store.uploader import (
    BROUGHT,
    Courier,
    UploadStatus,
    bring,
    list_pending_files,
    load_uploaded_digests,
)
from training_worker.training.stop_signal import Stop

from .test_store import plain

AT_ONCE = (0.01,)


@pytest.fixture
def folder(tmp_path: Path) -> RolloutFolder:
    path = tmp_path / "jobs" / "the-job" / "out" / "rollouts"
    path.mkdir(parents=True)
    return RolloutFolder(path)


@pytest.fixture(params=["file", "memory"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    where = f"file://{tmp_path / 'far'}" if request.param == "file" else f"memory://{uuid4().hex}"
    yield Storage(where) / "the-job" / "rollouts"
    fsspec.filesystem("memory").store.clear()


def away(tmp_path: Path) -> Storage:
    """Return a storage whose folder cannot be made, since a file lies in its place."""
    (tmp_path / "far").write_text("in the way")
    return Storage(f"file://{tmp_path / 'far'}") / "the-job" / "rollouts"


def keep(folder: RolloutFolder, *steps: int, text: str = "a") -> None:
    for step in steps:
        folder.store(step, [plain(f"{text} {step}")], "last", str)


def test_what_is_put_there_is_got_again_listed_and_removed(storage: Storage) -> None:
    assert storage.names() == []
    storage.put("step-000001.parquet", b"one")
    storage.put("step-000001.parquet", b"two")
    assert (storage.get("step-000001.parquet"), storage.names()) == (b"two", ["step-000001.parquet"])
    storage.remove("step-000001.parquet")
    storage.remove("step-000001.parquet")
    assert storage.names() == []
    with pytest.raises(FileNotFoundError):
        storage.get("step-000001.parquet")


@pytest.mark.parametrize("name", ["../secret", "a/b", "/etc/passwd", "", ".", "..", "s3://other/x", "a\n"])
def test_a_name_that_leads_elsewhere_is_never_opened(name: str, storage: Storage) -> None:
    for use in (storage.get, storage.remove, lambda one: storage.put(one, b""), storage.__truediv__):
        with pytest.raises(ValueError, match="not a valid file or folder name"):
            use(name)


def test_a_url_that_is_none_and_a_package_that_is_missing_are_named_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PROVE_STORAGE", raising=False)
    assert get_storage() is None is get_storage("")
    for wrong in ("/srv/prove", "nonsense://x", "s3", "file://srv/prove"):
        with pytest.raises(StorageFailed, match=r"is not a storage URL\. Use file:///folder or s3://bucket/prefix"):
            get_storage(wrong)
    monkeypatch.setitem(sys.modules, "s3fs", None)  # as if it were not installed
    with pytest.raises(StorageFailed, match="install the package s3fs to use s3:// URLs"):
        get_storage("s3://bucket/prefix")


def test_a_password_in_the_url_is_never_displayed() -> None:
    assert Storage("sftp://me:secret@host/folder").named == "sftp://host/folder"


def test_a_storage_that_is_away_says_which_it_is(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match=r"The storage file://.* did not answer"):
        away(tmp_path).put("step-000001.parquet", b"")


def test_a_courier_brings_every_step_and_the_stored_tokens(folder: RolloutFolder, storage: Storage) -> None:
    keep(folder, 1, 2)
    courier = Courier(folder.path, storage, rewound=0, pauses=AT_ONCE)
    courier.start()
    eventually(lambda: len(storage.names()) == 3, "the first files")
    keep(folder, 3)
    courier.notify_new_files()
    assert courier.finish(30).waiting == 0 and not courier.is_alive()
    assert storage.names() == [*map(step_name, (1, 2, 3)), tokens_name(3)]
    for name in storage.names():
        assert storage.get(name) == (folder.path / name).read_bytes()


def test_a_storage_that_was_away_gets_everything_when_it_is_back(folder: RolloutFolder, tmp_path: Path) -> None:
    storage = away(tmp_path)
    keep(folder, 1)
    courier = Courier(folder.path, storage, rewound=0, pauses=AT_ONCE)
    courier.start()
    courier.notify_new_files()
    eventually(lambda: courier.news.error, "word that the storage is away")
    assert courier.news.waiting == 2 and "did not answer" in courier.news.error
    keep(folder, 2)
    (tmp_path / "far").unlink()
    assert courier.finish(30) == type(courier.news)(0, "")
    assert storage.names() == [step_name(1), step_name(2), tokens_name(2)]


def test_a_local_disk_that_takes_no_notes_is_reported_and_stops_no_courier(
    folder: RolloutFolder, storage: Storage
) -> None:
    keep(folder, 1)
    (folder.path / BROUGHT).mkdir()  # blocks the file of notes
    courier = Courier(folder.path, storage, pauses=AT_ONCE)
    courier.start()
    eventually(lambda: courier.news.error)
    assert BROUGHT in courier.news.error
    (folder.path / BROUGHT).rmdir()
    assert courier.finish(10.0) == UploadStatus(0)


def test_what_was_brought_is_not_brought_again_and_what_changed_is(folder: RolloutFolder, storage: Storage) -> None:
    keep(folder, 1, 2)
    bring(folder.path, storage)
    assert list_pending_files(folder.path) == []
    with (folder.path / BROUGHT).open("a") as file:
        file.write('["step-000002.parq')  # a line that a kill cut short
    keep(folder, 2, text="another")
    assert list_pending_files(folder.path) == [step_name(2)]
    bring(folder.path, storage)
    assert (
        storage.get(step_name(2)) == (folder.path / step_name(2)).read_bytes() and list_pending_files(folder.path) == []
    )
    assert load_uploaded_digests(folder.path)[step_name(1)] == file_digest(folder.path / step_name(1))


def test_steps_that_are_void_leave_the_storage_and_no_other_does(folder: RolloutFolder, storage: Storage) -> None:
    keep(folder, 1, 2, 3)
    bring(folder.path, storage)
    (folder.path / step_name(1)).unlink()  # somebody made room here
    folder.rewind(2)
    courier = Courier(folder.path, storage, rewound=2, pauses=AT_ONCE)
    courier.start()
    assert courier.finish(30).waiting == 0
    assert storage.names() == [step_name(1), step_name(2)]


def open_spool(tmp_path: Path) -> tuple[EventLog, SpoolReader]:
    path = tmp_path / "events-1.jsonl"
    return EventLog(SpoolWriter(path), Stop(), 1), SpoolReader(path)


def event_data(reader: SpoolReader, kind: str) -> list[dict[str, object]]:
    return [event["data"] for event in reader.read() if event["kind"] == kind]


def test_a_run_says_once_that_its_storage_is_away_and_goes_on(
    folder: RolloutFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away(tmp_path)
    monkeypatch.setenv("PROVE_STORAGE", f"file://{tmp_path / 'far'}")
    monkeypatch.setattr("training_worker.jobs.rollout_upload.PATIENCE", 0.5)
    tell, reader = open_spool(tmp_path)
    storing = RolloutUploader(folder.path, "the-job", 0, tell)
    for step in (1, 2):
        storing.on_stored(folder.store(step, [plain("a")]))
    storing.finish()
    assert [one["step"] for one in event_data(reader, "rollouts")] == [1, 2]
    (word,) = event_data(reader, "storage")
    assert word["waiting"] and "did not answer" in str(word["error"])

    (tmp_path / "far").unlink()  # the next attempt reports the stored steps and uploads the rest
    tell, reader = open_spool(tmp_path / "jobs")
    storing = RolloutUploader(folder.path, "the-job", 1, tell)
    storing.tell_before(1)
    folder.rewind(1)
    storing.on_stored(folder.store(2, [plain("again")]))
    storing.finish()
    assert [one["step"] for one in event_data(reader, "rollouts")] == [1, 2] and event_data(reader, "storage") == []
    assert (Storage(f"file://{tmp_path / 'far'}") / "the-job" / "rollouts").names()[:2] == [step_name(1), step_name(2)]


def test_a_run_whose_storage_is_set_wrong_is_refused_before_it_starts(
    folder: RolloutFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROVE_STORAGE", "/srv/prove")
    with pytest.raises(JobRefusedError, match=r"is not a storage URL.* then resume"):
        RolloutUploader(folder.path, "the-job", 0, open_spool(tmp_path)[0])


def test_the_command_brings_what_runs_could_not(
    folder: RolloutFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(folder, 1)
    monkeypatch.setenv("PROVE_DATA", str(tmp_path))
    monkeypatch.delenv("PROVE_STORAGE", raising=False)
    assert command.main() == 1 and "PROVE_STORAGE is not set" in capsys.readouterr().err
    away(tmp_path)
    monkeypatch.setenv("PROVE_STORAGE", f"file://{tmp_path / 'far'}")
    assert command.main() == 1 and "did not answer" in capsys.readouterr().err
    (tmp_path / "far").unlink()
    assert command.main() == 0 and "2 files uploaded" in capsys.readouterr().out
    assert command.main() == 0 and "uploaded" not in capsys.readouterr().out


def test_a_cache_gives_the_same_file_without_a_second_download_and_stays_small(
    storage: Storage, tmp_path: Path
) -> None:
    cache = Cache(tmp_path / "cache", most=250)
    digests = {}
    for step in (1, 2, 3):
        data = str(step).encode() * 100
        storage.put(step_name(step), data)
        (tmp_path / "x").write_bytes(data)
        digests[step] = file_digest(tmp_path / "x")
    first = cache.file(storage, step_name(1), digests[1])
    storage.remove(step_name(1))
    assert cache.file(storage, step_name(1), digests[1]) == first and first.read_bytes() == b"1" * 100
    for step in (2, 3):
        cache.file(storage, step_name(step), digests[step])
    assert len(list(cache.folder.iterdir())) == 2
    with pytest.raises(FileNotFoundError):
        cache.file(storage, step_name(9), digests[1])
    storage.put(step_name(2), b"of another attempt")
    with pytest.raises(DamagedFile, match=r"step-000002\.parquet in the storage .* is not the one"):
        cache.file(storage, step_name(2), "0" * 64)
