"""The main job as its user sees it: it runs, is interrupted, killed and run again, and says in a line what is wrong."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.prove.known import known_examples, share_graph
from tests.waiting import PATIENCE, eventually
from training_worker.experiments.pipeline import main
from training_worker.policy.model import tiny_model
from training_worker.policy.policy_folder import save_policy
from training_worker.policy.tokenizer import plain_tokenizer, train_tokenizer
from training_worker.store.folder import RolloutFolder
from training_worker.training.curriculum import names, text, values

from .conftest import SMALL

ROOT = Path(__file__).parents[2]
STEPS = 4


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained policy: it gains nothing, which is what exit code 3 says."""
    folder = tmp_path_factory.mktemp("policy")
    examples = known_examples(30)
    tokenizer = train_tokenizer([text(plain_tokenizer(), one) for one in examples], names(values(examples)), 1_000)
    save_policy(folder, tiny_model(tokenizer, seed=1, shape=SMALL), tokenizer, {"made_by": "test"})
    return folder


def options(data: Path, policy: Path, steps: int = STEPS) -> list[str]:
    share_graph(data)
    sizes = ["--examples", "20", "--held-out", "3", "--max-steps", str(steps)]
    return ["--data", str(data), "--policy", str(policy), *sizes]


def run(data: Path, policy: Path, steps: int = STEPS) -> tuple[int, str]:
    """The exit code, and what was said; torch is imported in this process already."""
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = main(options(data, policy, steps))
    return code, said.getvalue()


def start(data: Path, policy: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "manage.py", "pipeline", *options(data, policy)],
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def steps(data: Path) -> list[int]:
    path = data / "pipeline" / "train" / "metrics.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line)["step"] for line in lines]


def wait_for_step(job: subprocess.Popen[str], data: Path, step: int) -> None:
    eventually(lambda: job.poll() is not None or step in steps(data), f"step {step}", every=0.02)
    assert job.poll() is None, job.communicate()


@dataclass(frozen=True)
class Stopped:
    """A run of the command that was stopped with Ctrl-C, and the steps that it had logged."""

    data: Path
    code: int
    out: str
    err: str
    steps: list[int]


@pytest.fixture(scope="module")
def stopped(policy: Path, tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    data = tmp_path_factory.mktemp("data")
    job = start(data, policy)
    wait_for_step(job, data, 1)
    os.killpg(job.pid, signal.SIGINT)
    out, err = job.communicate(timeout=PATIENCE)
    return Stopped(data, job.returncode, out, err, steps(data))


@pytest.fixture(scope="module")
def last(stopped: Stopped, policy: Path) -> tuple[int, str]:
    """The same run, gone on with to its end."""
    return run(stopped.data, policy)


@pytest.mark.long
def test_ctrl_c_is_answered_in_one_line_and_leaves_a_checkpoint(stopped: Stopped) -> None:
    assert stopped.code == 130
    assert stopped.out.splitlines()[-1] == "Stopped. Finished work is saved; run the same command to resume."
    assert "Traceback" not in stopped.out + stopped.err


@pytest.mark.long
def test_after_a_stop_the_run_ends_with_every_step_logged_once(stopped: Stopped, last: tuple[int, str]) -> None:
    code, said = last
    assert code == 3, said  # all ran, and an untrained policy gains nothing
    assert f"resumes from the checkpoint of step {stopped.steps[-1]}" in said
    assert steps(stopped.data) == stored_steps(stopped.data) == list(range(1, STEPS + 1))


def stored_steps(data: Path) -> list[int]:
    return RolloutFolder(data / "pipeline" / "train" / "rollouts").steps()


@pytest.mark.long
def test_after_a_kill_the_run_ends_with_every_step_logged_once(policy: Path, tmp_path: Path) -> None:
    killed = start(tmp_path, policy)
    wait_for_step(killed, tmp_path, 2)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    job = start(tmp_path, policy)
    out, err = job.communicate(timeout=PATIENCE)
    assert job.returncode == 3, out + err
    assert steps(tmp_path) == stored_steps(tmp_path) == list(range(1, STEPS + 1))


@pytest.fixture(scope="module")
def finished(policy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a run that nothing stopped."""
    data = tmp_path_factory.mktemp("finished")
    assert run(data, policy, steps=1)[0] == 3
    return data


def test_a_run_leaves_a_summary_and_plots(finished: Path) -> None:
    folder = finished / "pipeline"
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["steps"] == 1 and summary["sampled"]["examples"] == 3
    for name in ("training.png", "held-out.png"):
        assert (folder / "plots" / name).read_bytes().startswith(b"\x89PNG")


def test_a_second_run_keeps_what_is_done(finished: Path, policy: Path) -> None:
    code, said = run(finished, policy, steps=1)
    assert (code, said.count("(cached)")) == (3, 5)


@pytest.mark.long
def test_data_made_by_servers_that_behaved_differently_are_made_again(
    stopped: Stopped, last: tuple[int, str], policy: Path
) -> None:
    for name in ("done.json", "started.json"):
        path = stopped.data / "pipeline" / "data" / name
        path.write_text(path.read_text().replace('"servers": "', '"servers": "older'))
        known = json.loads(path.read_text())
        path.write_text(json.dumps(known | {"key": "older"}))
    _, said = run(stopped.data, policy)
    assert "data ran again: servers changed." in said
    assert said.count("(cached)") == 5 - 1  # the data come out the same, so all other stages stay cached


@pytest.mark.parametrize("torn", ["missing", "cut"])
def test_a_policy_that_cannot_be_read_is_one_line_with_the_remedy(
    torn: str, finished: Path, policy: Path, tmp_path: Path
) -> None:
    shutil.copytree(finished / "pipeline" / "graph", tmp_path / "data" / "pipeline" / "graph")
    broken = tmp_path / "policy"
    if torn == "cut":
        broken.mkdir()
        for path in policy.glob("*.*"):
            content = path.read_bytes()
            (broken / path.name).write_bytes(content[:1000] if path.suffix == ".safetensors" else content)
    code, said = run(tmp_path / "data", broken)
    assert code == 1
    assert said.splitlines()[-1].startswith(f"Failed: {broken}")
    assert "Traceback" not in said


@pytest.mark.parametrize("options", [["--minutes", "-1"], ["--seed", "20"], ["--examples", "0"]], ids=" ".join)
def test_nonsense_options_are_refused_in_one_line(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--data", str(tmp_path / "d"), *options])
    assert left.value.code == 2
    assert "must be" in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "d").exists()
