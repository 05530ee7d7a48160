"""Backups: a restored site has the same pages; damaged and foreign backups and used folders are refused."""

import hashlib
import io
import json
import os
import shutil
import socket
import sqlite3
import stat
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from prove_web.operations.backups import archive, contents, manifest
from prove_web.operations.backups.archive import BackupFailed
from prove_web.operations.backups.restore_backup import STAGING, restore
from prove_web.supervisor.checks import DATA_VERSION

pytestmark = pytest.mark.skipif("PROVE_TEST_DATABASE" in os.environ, reason="about SQLite files")

ROOT = Path(__file__).resolve().parent.parent.parent
BEGIN = """
from django.core.management import call_command
from prove_web.accounts.models import Membership, Organisation, Project, User
from prove_web.accounts.roles import Role
from tests.prove_web.furnished import furnish
call_command("migrate", verbosity=0)
team = Organisation.objects.create(slug="acme", name="Acme")
mary = User.objects.create_user("mary", "mary@example.com", "x")
Membership.objects.create(organisation=team, user=mary, role=Role.MAINTAINER)
furnish(Project.objects.create(organisation=team, slug="demo", name="Demo"), mary)
"""
PAGES = """
import hashlib, json, re
from django.test import Client, override_settings
from prove_web.accounts.models import User
from tests.prove_web.furnished import STEP
with override_settings(ALLOWED_HOSTS=["testserver"]):
    client = Client()
    client.force_login(User.objects.get(username="mary"))
    shown = {}
    rollouts = f"runs/1/rollouts/{STEP}/"
    for path in ("", "datasets/", "datasets/1/", "runs/", "runs/1/", rollouts, "sessions/", "evaluations/"):
        answer = client.get(f"/acme/demo/{path}")
        assert answer.status_code == 200, path
        text = answer.text
        text = re.sub(r'nonce="[^"]+"', "", text)
        shown[path] = re.sub(r"now|(a|\\d+)\\s(second|minute)s?(\\sago)?", "", re.sub(r"[A-Za-z0-9]{64}", "", text))
print(json.dumps(shown))
"""


def manage(data: Path, *words: str) -> str:
    """Run a management command on a data folder; return its output."""
    environment = {**os.environ, "PROVE_DATA": str(data), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "manage.py", *words], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def shell(data: Path, code: str) -> str:
    return manage(data, "shell", "--no-imports", "-c", code)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, migrated: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    """A data folder with a little of everything, and its pages."""
    data = tmp_path_factory.mktemp("site")
    shutil.copy(migrated, data / "prove.sqlite3")
    pages = json.loads(shell(data, BEGIN + PAGES).splitlines()[-1])
    for name in ("cache/rollouts/old", "logs/web.log", "valkey/appendonly", "jobs/x/out/checkpoints/one/model"):
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_text("something")
    (data / "linked").symlink_to("/etc/passwd")
    (data / "gateway").mkdir(exist_ok=True)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(data / "gateway" / "gateway.sock"))  # as the running gateway has one
        yield data, pages


@pytest.fixture
def in_use(site: tuple[Path, dict[str, str]]) -> Iterator[Path]:
    """The data folder while its database and a job's file are written to without a pause."""
    data, over = site[0], threading.Event()
    growing = data / "jobs" / "x" / "events.jsonl"

    def write() -> None:
        with closing(sqlite3.connect(data / "prove.sqlite3", timeout=20)) as database, growing.open("w") as file:
            for number in range(10**9):
                with database:
                    database.execute("CREATE TABLE IF NOT EXISTS written (number INTEGER)")
                    database.execute("INSERT INTO written VALUES (?)", [number])
                file.write(f"{number}\n")
                file.flush()
                if over.is_set():
                    return

    writer = threading.Thread(target=write)
    writer.start()
    yield data
    over.set()
    writer.join()
    with closing(sqlite3.connect(data / "prove.sqlite3", timeout=20)) as database, database:
        database.execute("DROP TABLE written")


def names(file: Path) -> set[str]:
    with archive.open_archive(file) as tar:
        return {member.name for member in tar}


@pytest.mark.long
def test_a_site_in_use_comes_back_with_the_same_pages(
    in_use: Path, site: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    file, back = tmp_path / "site.tar.zst", tmp_path / "back"
    said = manage(in_use, "backup", str(file))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and "secrets" in said
    assert "Links are not backed up: linked" in said
    assert sorted(tmp_path.iterdir()) == [file], "nothing else is left"
    stored = names(file)
    assert {"about.json", "database", "manifest.json", "files/secret_key"} <= stored
    assert not [
        name for name in stored if name.startswith(("files/cache", "files/logs", "files/valkey", "files/linked"))
    ]
    assert "Restored" in manage(back, "restore", str(file))
    assert json.loads(shell(back, PAGES)) == site[1]
    assert (back / "secret_key").read_text() == (in_use / "secret_key").read_text()
    assert stat.S_IMODE((back / "secret_key").stat().st_mode) == 0o600
    with closing(sqlite3.connect(back / "prove.sqlite3")) as database:
        count, last = database.execute("SELECT COUNT(*), MAX(number) FROM written").fetchone()
        assert count == last + 1, "it is of one moment"
    assert not (back / STAGING).exists()


def test_what_is_large_can_be_left_out(site: tuple[Path, dict[str, str]]) -> None:
    data = site[0]

    def included(*without: str) -> set[str]:
        return {name for name, _ in contents.files(data, data / "prove.sqlite3", frozenset(without))}

    everything = included()
    assert not {name for name in everything if name.startswith("prove.sqlite3")}, "the database is kept apart"
    for part in contents.PARTS:
        left = everything - included(part)
        assert left and all(f"/out/{part}/" in name for name in left)
    assert "jobs/x/out/checkpoints/one/model" in included("rollouts") - included("checkpoints")


ABOUT = {"format": manifest.FORMAT, "data_version": DATA_VERSION, "made_at": "2026-01-01T00:00:00Z"}
ABOUT |= {"database": "sqlite", "migrations": [], "without": []}
Member = tuple[tarfile.TarInfo, bytes]


def member(name: str, content: bytes = b"", **more: Any) -> Member:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in more.items():
        setattr(info, field, value)
    return info, content


def manifest_of(*members: Member) -> Member:
    """Return the manifest of these members."""
    listed = {one.name: {"bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()} for one, text in members}
    return member("manifest.json", json.dumps({"members": listed, "gone": []}).encode())


def about(**changed: Any) -> Member:
    return member("about.json", json.dumps(ABOUT | changed).encode())


def packed(file: Path, *members: Member) -> Path:
    with tarfile.open(file, "w:gz") as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content))
    return file


@pytest.fixture
def refused(db: None, settings: Any, tmp_path: Path) -> Callable[..., str]:
    """Return why a backup of these members is refused; the refusal leaves no file behind."""
    settings.PROVE_DATA = tmp_path / "deep" / "data"

    def why(*members: Member, cut: int = 0) -> str:
        file = packed(tmp_path / "site.tar.gz", *members)
        if cut:
            file.write_bytes(file.read_bytes()[:-cut])
        with pytest.raises(BackupFailed) as refusal:
            restore(file, lambda done: None)
        assert [path for path in tmp_path.rglob("*") if path.is_file()] == [file]
        assert not list(settings.PROVE_DATA.iterdir())
        return str(refusal.value)

    return why


OUTSIDE = [
    "../out",
    "files/../../out",
    "/etc/out",
    "files//out",
    "files/./out",
    "files/a\\..\\out",
    "elsewhere",
    "files/",
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_name_that_leads_elsewhere_is_refused(name: str, refused: Callable[..., str]) -> None:
    odd = member(name, b"x")
    assert "contains the invalid path" in refused(about(), odd, manifest_of(about(), odd))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE])
def test_what_is_no_plain_file_is_refused(kind: bytes, refused: Callable[..., str]) -> None:
    odd = member("files/odd", type=kind, linkname="/etc/passwd")
    assert "not a regular file" in refused(about(), odd, manifest_of(about(), odd))


def test_a_file_that_comes_twice_is_refused(refused: Callable[..., str]) -> None:
    twice = member("files/a", b"x")
    assert "twice" in refused(about(), twice, twice, manifest_of(about(), twice))


def test_a_file_that_is_another_than_was_put_there_is_refused(refused: Callable[..., str]) -> None:
    put, found = member("files/a", b"what was"), member("files/a", b"what is!")
    assert "files/a in the backup does not match its checksum" in refused(about(), found, manifest_of(about(), put))
    assert "files/a in the backup does not match its checksum" in refused(about(), manifest_of(about(), put))
    assert "files/a in the backup does not match its checksum" in refused(about(), put, manifest_of(about()))


def test_a_backup_that_was_cut_short_is_refused(refused: Callable[..., str]) -> None:
    file = member("files/a", os.urandom(5000))
    assert "no manifest" in refused(about(), file)
    assert "is it complete" in refused(about(), file, manifest_of(about(), file), cut=3000)


def test_a_database_that_is_damaged_is_refused(refused: Callable[..., str]) -> None:
    broken = member("database", b"SQLite format 3\0" + b"\xff" * 5000)
    assert "the database in the backup is damaged" in refused(about(), broken, manifest_of(about(), broken))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"format": 2}, "format 2"),
        ({"data_version": 99}, "data version 99"),
        ({"migrations": [["live", "9999_later"]]}, "a newer version created this backup (its database has live.9999"),
        ({"database": "postgresql"}, "a postgresql database"),
        ({"migrations": "none"}, "not a PROVE Studio backup"),
    ],
)
def test_a_backup_that_this_site_cannot_take_is_refused(
    changed: dict[str, Any], words: str, refused: Callable[..., str]
) -> None:
    assert words in refused(about(**changed), manifest_of())


def test_nothing_is_written_over(db: None, settings: Any, tmp_path: Path) -> None:
    """Each command names in one line what is in the way."""
    settings.PROVE_DATA = tmp_path / "data"
    settings.PROVE_DATA.mkdir()
    (settings.PROVE_DATA / "results").write_text("of a year")
    file = packed(tmp_path / "site.tar.gz", about(), manifest_of(about()))
    before = file.read_bytes()
    with pytest.raises(
        CommandError, match=r"data is not empty \(it contains results\): set PROVE_DATA to an empty folder"
    ):
        call_command("restore", str(file))
    with pytest.raises(CommandError, match="already exists: choose another name"):
        call_command("backup", str(file))
    assert file.read_bytes() == before and [path.name for path in settings.PROVE_DATA.iterdir()] == ["results"]


def test_what_is_no_backup_at_all_is_refused(refused: Callable[..., str], tmp_path: Path) -> None:
    assert "not a PROVE Studio backup" in refused(member("holiday.jpg", b"..."))
    with pytest.raises(BackupFailed, match=r"end the name in \.tar\.zst"):
        restore(tmp_path / "site.zip", lambda done: None)
    with pytest.raises(BackupFailed, match="cannot be read as a backup"):
        restore(tmp_path / "nothing.tar.zst", lambda done: None)


@pytest.mark.parametrize("name", ["a.tar.gz", "a.tgz", "a.tar.zst"])
def test_an_archive_is_what_was_written_and_appears_complete_or_not_at_all(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    with archive.create_archive(file) as made:
        made.text("one", b"text")
        assert not file.exists()
    with archive.open_archive(file) as tar:
        assert [(one.name, tar.extractfile(one).read()) for one in tar] == [("one", b"text")]
    with pytest.raises(KeyError), archive.create_archive(tmp_path / f"other-{name}"):
        raise KeyError
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_that_grows_is_stored_as_it_was_when_it_was_opened(tmp_path: Path) -> None:
    growing = tmp_path / "log"
    growing.write_bytes(b"before")
    with (
        archive.create_archive(tmp_path / "a.tar.gz") as made,
        growing.open("rb") as opened,
        growing.open("ab") as more,
    ):
        size = os.fstat(opened.fileno()).st_size
        more.write(b" and after")
        made.add("log", opened, size, 0o600, 0)
        more.flush()
    with archive.open_archive(tmp_path / "a.tar.gz") as tar:
        assert [tar.extractfile(one).read() for one in tar] == [b"before"]


def test_a_checkpoint_that_vanished_while_it_was_read_is_not_half_there(tmp_path: Path) -> None:
    from prove_web.operations.backups.restore_backup import drop_torn_checkpoints

    torn, intact = (tmp_path / "jobs/x/out/checkpoints" / name for name in ("checkpoint-1", "checkpoint-2"))
    for folder in (torn, intact):
        folder.mkdir(parents=True)
        (folder / "model").write_text("x")
    drop_torn_checkpoints(tmp_path, ["jobs/x/out/checkpoints/checkpoint-1/optimizer", "jobs/x/out/rollouts/a", "note"])
    assert not torn.exists() and intact.exists()
