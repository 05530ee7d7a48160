"""An external program that logs its training: nothing is lost or stored twice, and training never waits."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import pytest
from django.conf import LazySettings

from prove_web.accounts.models import Organisation, User
from prove_web.accounts.models import Project as OurProject
from prove_web.api.tokens import issue
from prove_web.experiments.models import Run
from prove_web.live.models import State
from tests.waiting import eventually
from training_worker.client import Project, Studio, StudioError, run_logger
from training_worker.client.run_logger import RunLogger
from training_worker.client.spool import Spool
from training_worker.client.uploader import forward, send_left

from .joining import over_http
from .test_api_client import Flaky, Site

SITE = "https://studio.example.org"
Connect = Callable[..., Project]


@pytest.fixture
def connect(mary: User, organisation: Organisation, project: OurProject, settings: LazySettings) -> Iterator[Connect]:
    settings.ALLOWED_HOSTS, settings.API_RATE = ["studio.example.org", "localhost", "127.0.0.1"], 10**6
    made: list[Studio] = []
    token = issue(mary, organisation, "Mine", ["view", "launch"])[1]

    def to(site: str = SITE, transport: httpx2.BaseTransport | None = None, **rest: Any) -> Project:
        made.append(Studio(site, token, transport=transport, pause=lambda seconds: None, **rest))
        return made[-1].project("acme", "demo")

    yield to
    for studio in made:
        studio.close()


def filled(folder: Path, steps: int = 25) -> tuple[Spool, dict[int, Any]]:
    spool = Spool(folder / "one.jsonl")
    points = {step: {"loss": 1 / (step + 1), "train/mine": float(step)} for step in range(steps)}
    spool.append([{"make": {"name": "Mine", "key": "one"}}])
    spool.append([{"points": {"step": step, "metrics": metrics}} for step, metrics in points.items()])
    spool.append([{"end": {"state": "done"}}])
    return spool, points


@pytest.mark.parametrize("seed", range(4))
def test_however_the_site_breaks_off_each_point_is_stored_once(connect: Connect, tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    spool, points = filled(tmp_path)
    broken = [draw.choice([503, 429, httpx2.ConnectError, httpx2.ReadError]) for _ in range(12)]
    project = connect(transport=Flaky(*broken), tries=1)
    for _ in range(20):
        if draw.random() < 0.5:  # the program died before it wrote down how far it had come
            spool.path.with_suffix(".sent").unlink(missing_ok=True)
        try:
            forward(project, Spool(spool.path))
        except StudioError:
            continue
    run = Run.objects.get()
    assert dict(run.points.values_list("step", "metrics")) == points
    assert run.job.state == State.DONE


def test_what_a_program_that_died_had_not_finished_writing_is_left_out(connect: Connect, tmp_path: Path) -> None:
    spool, points = filled(tmp_path)
    with spool.path.open("ab") as file:
        file.write(b'{"points": {"step": 99, "met')
    forward(connect(transport=Site()), Spool(spool.path))
    assert dict(Run.objects.get().points.values_list("step", "metrics")) == points


def test_what_the_site_refuses_is_left_out_and_reported(connect: Connect, tmp_path: Path) -> None:
    spool = Spool(tmp_path / "one.jsonl")
    spool.append([{"make": {"name": "Mine"}}, {"points": {"step": -1, "metrics": {}}}])
    with pytest.raises(StudioError, match="greater than or equal to 0"):
        forward(connect(transport=Site()), spool)
    assert spool.read_unsent(9)[0] == []


def test_logging_costs_nothing_where_nothing_can_be_stored(
    connect: Connect, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING):
        teller = RunLogger(connect("http://localhost:9"), "Mine", tmp_path / "file", every=0.01)
        for step in range(20):
            teller.log(step, {"loss": float("nan"), "text": "x", "flag": True, "step": 3})
        teller.end()
    assert len([one for one in caplog.records if one.name.startswith("training_worker.client")]) == 1


@pytest.fixture
def site(transactional_db: None) -> Iterator[str]:
    """Run a real site over a socket. It answers one request at a time, as its database in memory has one connection."""
    with over_http() as url:
        yield url


class TestLive:
    """Tests against a real site."""

    @pytest.mark.long
    def test_a_trainer_of_transformers_is_a_run_of_the_site(self, connect: Connect, site: str, tmp_path: Path) -> None:
        trained(connect(site), tmp_path)
        run = Run.objects.get()
        assert [*run.points.values_list("step", flat=True)] == [1, 2, 3]
        assert all({"loss", "grad_norm", "learning_rate", "elapsed_s"} <= {*one.metrics} for one in run.points.all())
        assert [*run.held_out.values_list("step", flat=True)] == [3]
        assert "loss" in run.held_out.get().metrics
        assert (run.job.state, run.job.total) == (State.DONE, 3)
        assert run.config["given"]["learning_rate"] == 0.001 and run.config["given"]["mine"] == "yes"
        assert run.tags == ["elsewhere"]

    def test_without_the_site_training_goes_on_and_its_run_is_sent_later(
        self, connect: Connect, site: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.WARNING, "training_worker.client"):
            trained(connect("http://localhost:9", tries=1), tmp_path)
        assert len([one for one in caplog.records if "does not answer" in one.message]) == 1
        assert not Run.objects.exists()
        assert send_left(connect(site), tmp_path / "prove") == 1
        assert send_left(connect(site), tmp_path / "prove") == 0
        run = Run.objects.get()
        assert [*run.points.values_list("step", flat=True)] == [1, 2, 3] and run.job.state == State.DONE

    def test_a_program_that_logs_only_rollouts_gets_the_request_to_stop_too(
        self, connect: Connect, site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: LazySettings
    ) -> None:
        settings.PROVE_DATA = tmp_path / "site"
        monkeypatch.setattr(run_logger, "BEAT", 0.2)
        project = connect(site)
        teller = RunLogger(project, "Mine", tmp_path / "spool", every=0.01)
        number = eventually(lambda: teller.run, "a number for the run")
        project.stop_run(number)
        steps = count(1)

        def stopped() -> bool:
            teller.rollouts(next(steps), [{"prompt": "Why", "rollouts": [{"completion": "So", "reward": 1.0}]}])
            return teller.stop.is_set()

        eventually(stopped, "the wish that it stop")
        teller.end("stopped")

    def test_once_the_connection_is_closed_its_thread_ends_and_what_is_logged_is_stored(
        self, connect: Connect, site: str, tmp_path: Path
    ) -> None:
        project = connect(site)
        teller = RunLogger(project, "Mine", tmp_path, every=0.01)
        teller.log(1, {"loss": 1.0})
        eventually(lambda: Run.objects.filter(points__step=1).exists(), "the first step")
        project.studio.close()
        eventually(lambda: not teller.thread.is_alive(), "the end of its thread")
        teller.log(2, {"loss": 0.5})
        teller.end()
        send_left(connect(site), tmp_path)
        run = Run.objects.get()
        assert [*run.points.values_list("step", flat=True)] == [1, 2] and run.job.state == State.DONE

    def test_a_program_gets_the_request_to_stop_and_continues_the_same_run(
        self, connect: Connect, site: str, tmp_path: Path
    ) -> None:
        project = connect(site)
        first = RunLogger(project, "Mine", tmp_path, every=0.05)
        first.log(1, {"loss": 1.0})
        number = eventually(lambda: first.run, "a number for the run")
        project.stop_run(number)
        first.log(2, {"loss": 0.5})
        eventually(first.stop.is_set, "the wish that it stop")
        first.end("stopped")
        again = RunLogger(project, "Mine", tmp_path, every=0.05, goes_on=True)
        again.log(3, {"loss": 0.25})
        again.end()
        run = Run.objects.get()
        assert [*run.points.values_list("step", flat=True)] == [1, 2, 3] and run.job.state == State.DONE


def trained(project: Project, folder: Path) -> None:
    """Train a tiny model for three steps, with an evaluation, by the Trainer of transformers."""
    torch = pytest.importorskip("torch")
    from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

    from training_worker.client.callback import ProveCallback

    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}
    config = LlamaConfig(vocab_size=16, num_attention_heads=1, num_key_value_heads=1, **sizes)
    row = {"input_ids": torch.arange(6), "labels": torch.arange(6)}
    arguments = TrainingArguments(
        output_dir=str(folder),
        max_steps=3,
        logging_steps=1,
        eval_strategy="steps",
        eval_steps=3,
        learning_rate=0.001,
        report_to=[],
        save_strategy="no",
        use_cpu=True,
        disable_tqdm=True,
    )
    callback = ProveCallback(project, "Tiny", {"mine": "yes"}, tags=["elsewhere"])
    data: Any = [row] * 8
    Trainer(
        LlamaForCausalLM(config), arguments, train_dataset=data, eval_dataset=data[:2], callbacks=[callback]
    ).train()
    assert json.loads(next((folder / "prove").glob("*.jsonl")).read_text().splitlines()[0])["make"]["name"] == "Tiny"
