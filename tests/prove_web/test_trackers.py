"""Runs of other trackers, imported and exported with those trackers' own libraries; odd files do no harm."""

from __future__ import annotations

import io
import random
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from prove_web.accounts.models import Project, User
from prove_web.experiments.models import Run
from prove_web.experiments.outside.create import ExternalRunRequest, make
from prove_web.experiments.outside.ingest import MetricPoint, end, store_metric_points
from prove_web.experiments.outside.limits import InvalidRunData
from prove_web.experiments.outside.trackers import bring, build_tracked_run, read_runs, write_run
from prove_web.live.models import State
from training_worker.trackers.safe_zip import unpack
from training_worker.trackers.tracked_run import NotRead, TrackedRun, group_into_points, map_trainer_names

SINGLE = {"tensorboard": True, "mlflow": False}  # whether a number has the digits of a float32 alone
CASES = [  # MLflow and W&B take seconds to write
    ("tensorboard", 1),
    *(pytest.param(*case, marks=pytest.mark.long) for case in (("tensorboard", 2), ("mlflow", 1), ("mlflow", 2))),
    pytest.param("wandb", 1, marks=pytest.mark.long),
]


def single(value: Any) -> Any:
    return struct.unpack("f", struct.pack("f", value))[0] if isinstance(value, float) else value


def random_run(project: Project, seed: int) -> Run:
    """Make a run with metrics of ours and of its own, at some steps only."""
    draw = random.Random(seed)
    config = {"lr": 0.125, "nested": {"a": [1, 2]}, "name": "ü"}
    run, _ = make(project, None, ExternalRunRequest(f"Run {seed}", f"key {seed}", config, ["b", "a"]))
    names = ["loss", "train/my loss", "acc@1", "acc+1", "acc%1", "elapsed_s"]
    for source in ("points", "held_out"):
        steps = sorted(draw.sample(range(200), 40))
        rows = [
            MetricPoint(
                step,
                {name: draw.uniform(-1e3, 1e3) for name in names if draw.random() < 0.7} | {"loss": 1.0 / (step + 1)},
            )
            for step in steps
        ]
        store_metric_points(run, {source: rows})
    end(run, State.FAILED)
    run.refresh_from_db()
    return run


@pytest.mark.parametrize(("format", "seed"), CASES)
def test_what_is_taken_away_and_brought_in_is_the_same(
    project: Project, tmp_path: Path, format: str, seed: int
) -> None:
    run = random_run(project, seed)
    write_run(run, format, tmp_path)
    assert not any(str(tmp_path).encode() in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    [one] = read_runs(format, tmp_path)
    again, new = bring(project, None, one, format)
    assert new and bring(project, None, one, format) == (again, False)
    for table in ("points", "held_out"):
        before, after = ([*getattr(each, table).values_list("step", "metrics")] for each in (run, again))
        digits = single if SINGLE.get(format) else float
        assert after == [(step, {name: digits(value) for name, value in metrics.items()}) for step, metrics in before]
    assert (again.name, again.config, again.tags, again.job.state) == (run.name, run.config, run.tags, State.FAILED)


def test_what_reads_files_of_strangers_knows_no_secret_of_the_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "of the site")
    seen = tmp_path / "seen"
    (tmp_path / "sitecustomize.py").write_text(f"import os; open({str(seen)!r}, 'w').write(str(os.environ))")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(InvalidRunData):
        read_runs("tensorboard", tmp_path / "nothing")
    assert "PYTHONPATH" in seen.read_text() and "of the site" not in seen.read_text()


def test_event_files_of_torch_are_read_as_its_trainers_name_things(project: Project, tmp_path: Path) -> None:
    tensorboard = pytest.importorskip("torch.utils.tensorboard")
    for name in ("first", "second/deeper"):
        writer = tensorboard.SummaryWriter(str(tmp_path / name))
        for step in range(3):
            writer.add_scalar("train/loss", 1.5 - step, step)
        writer.add_scalar("eval/loss", 0.25, 2)
        writer.close()
    found = read_runs("tensorboard", tmp_path)
    assert [one.name for one in found] == ["first", "second/deeper"]
    assert [row["metrics"] for row in found[0].points] == [{"loss": 1.5}, {"loss": 0.5}, {"loss": -0.5}]
    assert [(row["step"], row["metrics"]) for row in found[1].held_out] == [(2, {"loss": 0.25})]


def test_a_folder_that_mlflow_made_is_read_from_its_zip(
    as_user: Callable[[User], Client], mary: User, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from training_worker.trackers.mlflow import Metric, MlflowClient  # which allows for folders

    client = MlflowClient(tracking_uri=(tmp_path / "mlruns").as_uri())
    made = client.create_run(client.create_experiment("theirs"), run_name="Theirs")
    client.log_param(made.info.run_id, "lr", "0.1")
    client.log_batch(made.info.run_id, [Metric("acc", 0.1 + step, 1000 * step, step) for step in range(4)])
    client.set_terminated(made.info.run_id, "KILLED")
    answer = sent(
        as_user(mary),
        "mlflow",
        zipped({f.relative_to(tmp_path).as_posix(): f.read_bytes() for f in tmp_path.rglob("*") if f.is_file()}),
    )
    run = Run.objects.get()
    assert answer.status_code == 302 and answer["Location"] == run.get_absolute_url()
    assert dict(run.points.values_list("step", "metrics__acc")) == {step: 0.1 + step for step in range(4)}
    assert (run.name, run.config, run.job.state) == ("Theirs", {"given": {"lr": "0.1"}}, State.STOPPED)
    taken = as_user(mary).get(reverse("run-take", args=["acme", "demo", run.number, "mlflow"]))
    assert any(name.endswith("metrics/acc") for name in zipfile.ZipFile(io.BytesIO(taken.content)).namelist())
    assert as_user(mary).get(reverse("run-take", args=["acme", "demo", run.number, "nothing"])).status_code == 404


@pytest.mark.long
def test_the_terminal_does_so_too(project: Project, tmp_path: Path) -> None:
    run = random_run(project, 5)
    call_command("export_run", "acme/demo", str(run.number), str(tmp_path / "out"), "--to", "tensorboard")
    call_command("import_run", str(tmp_path / "out"), "--project", "acme/demo", "--from", "tensorboard")
    assert Run.objects.count() == 2
    with pytest.raises(CommandError, match="does not exist"):
        call_command("import_run", str(tmp_path / "gone"), "--project", "acme/demo", "--from", "mlflow")
    with pytest.raises(CommandError, match="no folder of MLflow"):
        call_command("import_run", str(tmp_path / "out"), "--project", "acme/demo", "--from", "mlflow")


def zipped(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return made.getvalue()


def sent(client: Client, format: str, content: bytes) -> Any:
    file = SimpleUploadedFile("file.zip", content)
    return client.post(reverse("run-import", args=["acme", "demo"]), {"format": format, "file": file})


@pytest.mark.parametrize("name", ["../out", "/etc/out", "a/../../out", "a\\..\\out"])
def test_a_zip_reaches_nothing_outside_of_its_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotRead, match="lies outside"):
        unpack(io.BytesIO(zipped({name: b"x"})), tmp_path / "in")
    assert [*tmp_path.rglob("out")] == []


def test_a_zip_has_no_links_and_no_more_than_was_agreed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    linked = io.BytesIO()
    with zipfile.ZipFile(linked, "w") as packed:
        entry = zipfile.ZipInfo("link")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        packed.writestr(entry, "/etc/passwd")
    with pytest.raises(NotRead, match="not a plain file"):
        unpack(linked, tmp_path / "a")
    monkeypatch.setattr("training_worker.trackers.safe_zip.MOST_BYTES", 1_000)
    with pytest.raises(NotRead, match="more than 1,000 bytes"):
        unpack(io.BytesIO(zipped({"a": b"\0" * 600, "b": b"\0" * 600})), tmp_path / "b")
    with pytest.raises(NotRead, match="cannot be unpacked"):
        unpack(io.BytesIO(zipped({"a": b"x", "a ": b"y"})[:-30]), tmp_path / "c")


@pytest.mark.parametrize(
    "content",
    [
        b"nothing of the kind",
        zipped({"a/meta.yaml": b"{"}),
        *(pytest.param(one, marks=pytest.mark.long) for one in (b"", b"PK", zipped({}))),
    ],
)
@pytest.mark.parametrize("format", SINGLE)
def test_what_is_no_such_file_is_refused_in_words(
    as_user: Callable[[User], Client], mary: User, project: Project, content: bytes, format: str
) -> None:
    answer = sent(as_user(mary), format, content)
    assert answer.status_code == 422 and b"invalid-feedback" in answer.content
    assert not Run.objects.exists()


def test_values_that_fit_nowhere_are_left_out() -> None:
    nan = float("nan")
    result = group_into_points(
        [("a", 1, 0.0, 1.0), ("a", 1, 1.0, 2.0), ("b", -1, 0.0, 1.0), ("é!", 2, 0.0, nan), ("", 3, 0.0, 1.0)]
    )
    assert result["points"] == (
        {"step": 1, "time": 1.0, "metrics": {"a": 2.0}},
        {"step": 2, "time": 0.0, "metrics": {"__": "NaN"}},
    )
    assert map_trainer_names(["train/a", "other"]) == {"train/a": "train/a", "other": "other"}


@pytest.mark.parametrize("odd", [{"name": 3}, {"config": []}, {"config": {"a\0": 1}}])
def test_what_a_file_says_of_its_run_may_be_damaged(project: Project, odd: dict[str, Any]) -> None:
    with pytest.raises(InvalidRunData, match="damaged"):
        bring(project, None, TrackedRun(**{"name": "x", **odd}), "mlflow")


def test_a_run_of_ours_is_taken_away(project: Project, tmp_path: Path) -> None:
    run = random_run(project, 9)
    run.points.create(step=1_000, metrics={"tools": {"pay": [1, 0]}, "loss": 2})
    assert build_tracked_run(run).points[-1]["metrics"] == {"loss": 2.0}
