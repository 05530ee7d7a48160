"""`manage.py make_token`, `launch_run`, `stop_run`, `resume_run`, `export_run` and `make_dataset`."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.test import Client

from prove_web.accounts.models import Organisation, Project, User
from prove_web.api.models import ApiToken
from prove_web.experiments.models import Run
from prove_web.live.models import State
from prove_web.trajectories import many
from prove_web.trajectories.models import Dataset

from .furnished import STEP, furnish


@pytest.fixture
def furnished(
    mary: User, bob: User, organisation: Organisation, project: Project, settings: LazySettings, tmp_path: Path
) -> dict[str, Any]:
    settings.PROVE_DATA = tmp_path / "data"
    return furnish(project, mary)


def said(command: str, *arguments: object) -> str:
    out = io.StringIO()
    call_command(command, *map(str, arguments), stdout=out)
    return out.getvalue().strip()


def test_a_token_made_on_the_server_opens_the_api(furnished: dict[str, Any]) -> None:
    text = said("make_token", "mary", "acme", "--scope", "launch", "--project", "acme/demo", "--name", "Nightly")
    made = ApiToken.objects.get(name="Nightly")
    assert made.scopes == ["view", "launch"] and made.project.slug == "demo" and made.expires_at
    assert Client(headers={"Authorization": f"Bearer {text}"}).get("/api/v1/me").json()["token"] == "Nightly"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("bob", "acme", "--scope", "launch"), "is not allowed to"),
        (("nobody", "acme"), "acme has no member"),
        (("bob", "nothing"), "Team nothing not found"),
        (("bob", "acme", "--project", "acme/nothing"), "no project"),
        (("bob", "acme", "--days", "-1"), "--days"),
    ],
)
def test_a_token_that_makes_no_sense_is_not_made(furnished: dict[str, Any], words: tuple[str, ...], why: str) -> None:
    before = ApiToken.objects.count()
    with pytest.raises(CommandError, match=why):
        said("make_token", *words)
    assert ApiToken.objects.count() == before


def test_a_run_is_launched_stopped_resumed_and_exported(furnished: dict[str, Any], tmp_path: Path) -> None:
    output = said("launch_run", "acme/demo", "--as", "mary", "--clone", 1, "--set", "name=Slower", "learning_rate=1e-6")
    run = Run.objects.get(name="Slower")
    assert str(run.job_id) in output and run.config["learning_rate"] == 1e-6 and run.job.created_by.username == "mary"
    assert "stopped" in said("stop_run", "acme/demo", run.number)
    assert "queued" in said("resume_run", "acme/demo", run.number)
    said("stop_run", "acme/demo", run.number, "--now")
    run.job.refresh_from_db()
    assert run.job.state == State.STOPPED
    with pytest.raises(CommandError, match="nothing to resume"):
        said("resume_run", "acme/demo", 1)


def test_a_runs_export_has_its_points_and_its_rollouts(furnished: dict[str, Any], tmp_path: Path) -> None:
    said("export_run", "acme/demo", 1, tmp_path / "run")
    lines = {name: (tmp_path / "run" / f"{name}.jsonl").read_text().splitlines() for name in ("points", "rollouts")}
    assert [json.loads(line)["step"] for line in lines["points"]] == [STEP]
    assert [json.loads(line)["index"] for line in lines["rollouts"]] == [1]
    assert json.loads((tmp_path / "run" / "run.json").read_text())["number"] == 1


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--as", "bob", "--dataset", "1"), "is not allowed to"),
        (("--as", "mary", "--dataset", "9"), "Dataset 9"),
        (("--as", "mary", "--clone", "9"), "Run 9 to clone"),
        (("--as", "mary", "--dataset", "1", "--set", "name=One", "lerning_rate=1"), "no field lerning_rate"),
        (("--as", "mary", "--dataset", "1", "--set", "name=One", "seed=99"), "seed:"),
        (("--as", "mary", "--dataset", "1", "--set", "name"), "NAME=VALUE"),
    ],
)
def test_a_run_that_makes_no_sense_is_not_launched(furnished: dict[str, Any], words: tuple[str, ...], why: str) -> None:
    with pytest.raises(CommandError, match=why):
        said("launch_run", "acme/demo", *words)
    assert Run.objects.count() == 1


def test_a_data_set_is_requested(furnished: dict[str, Any]) -> None:
    said("make_dataset", "acme/demo", "--as", "mary", "--set", "train=20", "held_out=0", 'servers=["banking"]')
    assert Dataset.objects.latest("number").job.spec["servers"] == ["banking"]
    with pytest.raises(CommandError, match="train:"):
        said("make_dataset", "acme/demo", "--as", "mary", "--set", "train=1")


@pytest.mark.django_db
def test_pages_among_many_runs_are_timed_beside_those_among_few(
    settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PROVE_DATA = tmp_path / "data"
    monkeypatch.setattr(many, "SERVERS", ("banking", "calendar"))  # a graph of two is built sooner
    sizes = ("--runs=6", "--steps=3", "--metrics=8", "--rollouts=32", "--wide=64", "--times=1")
    lines = said("time_runs", *sizes, "--only=table", "--only=rollouts of a wide step").splitlines()
    assert "6 runs x 3 steps x 8 metrics, 96 rollouts, a step of 64" in lines[0]
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines[3:]] == ["table", "rollouts of a wide step"]
    with pytest.raises(CommandError, match="--runs must be at least 2"):
        said("time_runs", "--runs=1")
