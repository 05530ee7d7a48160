"""Runs of Weights & Biases: read from files of its own library, intact or damaged, and written without any network."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from prove_web.accounts.models import Project, User
from prove_web.experiments.models import Run
from prove_web.live.models import State
from training_worker.trackers.tracked_run import NotRead, TrackedRun

from .test_trackers import random_run, sent, zipped

THEIRS = """
import sys, wandb
quiet = wandb.Settings(root_dir=sys.argv[1], console="off", silent=True, x_disable_stats=True, x_disable_meta=True)
config = {"lr": 0.1, "nested": {"value": [1]}}
about = {"name": "Odd <b>things</b>", "config": config, "tags": ["b", "a"], "notes": "Mine"}
with wandb.init(mode="offline", settings=quiet, **about) as run:
    for at in range(3):
        table = wandb.Table(columns=["a"], data=[[1]])
        odd = {"h": wandb.Histogram([1, 2]), "t": table, "text": "x", "flag": True, "lists": [1], "nothing": None}
        run.log({**odd, "loss": 0.1 * at, "a.b": at, "deep": {"er": at}, "gone": float("nan")}, step=5 * at)
    run.summary["best"] = 0.5
with wandb.init(mode="offline", settings=quiet) as run:  # as transformers' callback does
    run.define_metric("train/global_step")
    run.define_metric("*", step_metric="train/global_step", step_sync=True)
    for step in (10, 20):
        run.log({"train/loss": 1 / step, "train/global_step": step})
    run.log({"eval/loss": 0.25, "train/global_step": 20})
"""


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder `wandb` with two runs that its library wrote; that library takes seconds to start."""
    folder = tmp_path_factory.mktemp("theirs")
    own = {f"WANDB_{name}_DIR": str(folder / "other") for name in ("CACHE", "CONFIG", "DATA")}
    environment = {**os.environ, **own, "WANDB_ERROR_REPORTING": "false", "WANDB_MODE": "offline"}
    subprocess.run([sys.executable, "-c", THEIRS, str(folder)], env=environment, check=True)
    shutil.rmtree(folder / "other")
    return folder / "wandb"


@pytest.fixture(scope="module")
def reader() -> Iterator[Any]:
    """Yield the module that loads wandb, and restore the environment that wandb changes."""
    before = dict(os.environ)
    from training_worker.trackers import wandb

    yield wandb
    os.environ.clear()
    os.environ.update(before)


def run_files(folder: Path) -> dict[str, bytes]:
    return {f.relative_to(folder).as_posix(): f.read_bytes() for f in sorted(folder.glob("offline-*/run-*.wandb"))}


def curve(run: Run) -> dict[int, dict[str, float]]:
    """Return the points of a run without the clock, which depends on the machine."""
    return {one.step: {name: x for name, x in one.metrics.items() if name != "elapsed_s"} for one in run.points.all()}


@pytest.mark.long
def test_several_runs_of_a_zip_are_read_as_they_were_logged(
    as_user: Callable[[User], Client], mary: User, project: Project, theirs: Path
) -> None:
    client = as_user(mary)
    answer = sent(client, "wandb", zipped(run_files(theirs)))
    assert answer.status_code == 302 and Run.objects.count() == 2
    said = [str(one) for one in get_messages(answer.wsgi_request)]
    often = ", ".join(f"{name} (3 times)" for name in ("flag", "h", "lists", "t", "text"))
    left_out = f"Skipped, because they are not numbers: {often}."
    assert said[0] == "2 runs imported." and [left_out in one for one in said[1:]] == [True]
    odd, trained = sorted(Run.objects.all(), key=lambda run: run.points.count(), reverse=True)
    assert curve(odd) == {5 * at: {"loss": 0.1 * at, "a.b": at, "deep.er": at, "gone": None} for at in range(3)}
    assert (odd.name, odd.tags, odd.notes) == ("Odd <b>things</b>", ["a", "b"], f"Mine\n\n{left_out}")
    assert odd.config["given"] == {"lr": 0.1, "nested": {"value": [1]}}
    assert odd.job.state == State.DONE and odd.job.result == {"best": 0.5}
    assert curve(trained) == {10: {"loss": 0.1}, 20: {"loss": 0.05}}
    assert [*trained.held_out.values_list("step", "metrics")] == [(20, {"loss": 0.25})]
    assert "&lt;b&gt;things" in client.get(odd.get_absolute_url()).content.decode()


@pytest.mark.long
def test_one_file_alone_that_was_cut_short_says_so(
    as_user: Callable[[User], Client], mary: User, project: Project, theirs: Path
) -> None:
    content = next(iter(run_files(theirs).values()))
    client, address = as_user(mary), reverse("run-import", args=["acme", "demo"])
    for _ in range(2):
        file = SimpleUploadedFile("run-x.wandb", content[:-60])
        answer = client.post(address, {"format": "wandb", "file": file})
    run = Run.objects.get()
    assert answer.status_code == 302 and run.job.state == State.FAILED
    assert "damaged or was cut short" in run.notes and "does not say how the run ended" in run.notes
    assert answer["Location"] == run.get_absolute_url()


@pytest.mark.long
def test_the_terminal_writes_one_without_any_network_request(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = random_run(project, 6)
    Run.objects.filter(pk=run.pk).update(notes="Why **this** one")
    with socket.create_server(("127.0.0.1", 0)) as anybody:
        anybody.setblocking(False)
        port = anybody.getsockname()[1]
        theirs = {"WANDB_MODE": "online", "WANDB_API_KEY": "0" * 40, "WANDB_BASE_URL": f"http://127.0.0.1:{port}"}
        for name, value in {**theirs, "WANDB_DIR": str(tmp_path / "else"), "WANDB_NAME": "Not this"}.items():
            monkeypatch.setenv(name, value)
        call_command("export_run", "acme/demo", str(run.number), str(tmp_path / "out"), "--to", "wandb")
        with pytest.raises(BlockingIOError):
            anybody.accept()
    [made] = (tmp_path / "out" / "wandb").iterdir()
    assert made.name.startswith("offline-run-") and {one.suffix for one in made.rglob("*.*")} == {
        ".wandb",
        ".syncstate",
    }
    assert not any(socket.gethostname().encode() + b"\x12" in one.read_bytes() for one in made.glob("*.wandb"))
    assert not (tmp_path / "else").exists()
    call_command("import_run", str(tmp_path / "out"), "--project", "acme/demo", "--from", "wandb")
    again = Run.objects.latest("number")
    assert (again.name, again.notes) == (run.name, "Why **this** one") and "40 steps" in capsys.readouterr().out


@pytest.mark.parametrize("content", [b"", b"PK", b"nothing of the kind", b":W&B\xe1\xbe\0", b"\0" * 9000])
def test_what_is_no_such_file_is_refused_in_words(reader: Any, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run-x.wandb").write_bytes(content)
    with pytest.raises(NotRead, match="not a Weights & Biases run"):
        reader.read(tmp_path)
    with pytest.raises(NotRead, match=r"called run-….wandb"):
        reader.read(tmp_path / "nowhere")


def rows_of(run: TrackedRun) -> dict[int, Any]:
    return {row["step"]: row["metrics"] for row in run.points}


@pytest.mark.parametrize("seed", range(60))
def test_whatever_was_damaged_nothing_is_read_that_was_not_written(
    reader: Any, theirs: Path, tmp_path: Path, seed: int
) -> None:
    draw, file = random.Random(seed), tmp_path / "run-x.wandb"
    content = draw.choice([*run_files(theirs).values()])
    file.write_bytes(content)
    [intact] = reader.read(file)
    damaged = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(damaged))
        match draw.choice(["cut", "flip", "fill", "drop"]):
            case "cut":
                del damaged[place:]
            case "flip":
                damaged[place] ^= 1 << draw.randrange(8)
            case "fill":
                damaged[place : place + 40] = draw.randbytes(min(40, len(damaged) - place))
            case "drop":
                del damaged[place : place + 9]
        damaged = damaged or bytearray(b"\0")
    file.write_bytes(damaged)
    try:
        [read] = reader.read(file)
    except NotRead:
        return
    assert all(metrics == rows_of(intact).get(step) for step, metrics in rows_of(read).items())
    assert damaged == content or read.remarks != intact.remarks


def test_a_damaged_block_costs_no_more_than_what_was_in_it(reader: Any, tmp_path: Path) -> None:
    from training_worker.trackers import wandb_file as parts

    file, store = tmp_path / "run-x.wandb", parts.DataStore()
    store.open_for_write(str(file))
    for step in range(3_000):
        record = parts.wandb_internal_pb2.Record()
        for name, value in {
            "_step": step,
            "_timestamp": 1e9 + step,
            "loss": step / 7,
            "note": f'"{"x" * (step % 90)}"',
        }.items():
            record.history.item.add(key=name, value_json=str(value))
        store.write(record)
    store.close()
    content = bytearray(file.read_bytes())
    assert len(content) > 6 * parts.LEVELDBLOG_BLOCK_LEN
    content[3 * parts.LEVELDBLOG_BLOCK_LEN + 5_000] ^= 1
    file.write_bytes(content)
    [run] = reader.read(file)
    found = rows_of(run)
    lost = [step for step in range(3_000) if step not in found]
    assert 0 < len(lost) < 500 and lost == [*range(lost[0], lost[-1] + 1)] and found[2_999] == {"loss": 2_999 / 7}
    assert "some are lost" in run.remarks[1]
