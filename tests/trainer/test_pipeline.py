"""The main job as its user sees it: it runs, is interrupted, killed and run again, and says in a line what is wrong."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import PATIENCE, eventually
from training_worker.prove.graph import load_or_build
from training_worker.prove.store.folder import RolloutFolder
from training_worker.prove.synthesis.conversation import Recipe
from training_worker.prove.synthesis.dataset import synthesize
from training_worker.trainer.curriculum import names, text, values
from training_worker.trainer.model import tiny_model
from training_worker.trainer.policy import save_policy
from training_worker.trainer.tokenizer import plain_tokenizer, train_tokenizer
from training_worker.warm import SERVERS as WARM_SERVERS

from .conftest import SMALL

ROOT = Path(__file__).parents[2]
STEPS = 4


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained policy: it gains nothing, which is what exit code 3 says."""
    folder = tmp_path_factory.mktemp("policy")
    examples, _ = synthesize(30, "train", load_or_build(folder / "graph", servers=WARM_SERVERS), Recipe(), processes=1)
    tokenizer = train_tokenizer([text(plain_tokenizer(), one) for one in examples], names(values(examples)), 1_000)
    save_policy(folder, tiny_model(tokenizer, seed=1, shape=SMALL), tokenizer, {"made_by": "test"})
    return folder


def command(data: Path, policy: Path) -> list[str]:
    sizes = ["--examples", "20", "--held-out", "3", "--max-steps", str(STEPS)]
    return [sys.executable, "manage.py", "pipeline", "--data", str(data), "--policy", str(policy), *sizes]


def run(data: Path, policy: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(data, policy), cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)


def start(data: Path, policy: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(data, policy),
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


@pytest.fixture(scope="module")
def story(policy: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, object]]:
    """One run that is stopped with Ctrl-C, gone on with, killed, and gone on with to its end."""
    data = tmp_path_factory.mktemp("data")
    first = start(data, policy)
    wait_for_step(first, data, 1)
    os.killpg(first.pid, signal.SIGINT)
    out, err = first.communicate(timeout=PATIENCE)
    stopped = steps(data)
    second = start(data, policy)
    wait_for_step(second, data, stopped[-1] + 1)
    os.killpg(second.pid, signal.SIGKILL)
    second.communicate()
    yield {"data": data, "first": (first.returncode, out, err), "stopped": stopped, "last": run(data, policy)}


def test_ctrl_c_is_answered_in_one_line_and_leaves_a_checkpoint(story) -> None:
    code, out, err = story["first"]
    assert code == 130
    assert out.splitlines()[-1] == "Stopped. What is done is kept; the same command goes on from here."
    assert "Traceback" not in out + err


def test_after_stop_and_kill_the_run_ends_with_every_step_told_once(story) -> None:
    last = story["last"]
    assert last.returncode == 3, last.stdout + last.stderr  # all ran, and an untrained policy gains nothing
    assert f"goes on from the checkpoint of step {story['stopped'][-1]}" in last.stdout
    assert steps(story["data"]) == list(range(1, STEPS + 1))
    assert RolloutFolder(story["data"] / "pipeline" / "train" / "rollouts").steps() == list(range(1, STEPS + 1))


def test_a_run_leaves_a_summary_and_plots(story) -> None:
    folder = story["data"] / "pipeline"
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["steps"] == STEPS and summary["sampled"]["examples"] == 3
    for name in ("training.png", "held-out.png"):
        assert (folder / "plots" / name).read_bytes().startswith(b"\x89PNG")


def test_a_second_run_keeps_what_is_done(story, policy) -> None:
    assert run(story["data"], policy).stdout.count("kept from before") == 5


@pytest.mark.long
def test_data_made_by_servers_that_behaved_differently_are_made_again(story, policy) -> None:
    for name in ("done.json", "started.json"):
        path = story["data"] / "pipeline" / "data" / name
        path.write_text(path.read_text().replace('"servers": "', '"servers": "older'))
        known = json.loads(path.read_text())
        path.write_text(json.dumps(known | {"key": "older"}))
    changed = run(story["data"], policy)
    assert "data was made again: servers changed." in changed.stdout
    assert changed.stdout.count("kept from before") == 5 - 1  # the same data come out, so all else is kept


@pytest.mark.parametrize("torn", ["missing", "cut"])
def test_a_policy_that_cannot_be_read_is_one_line_with_the_remedy(torn, story, policy, tmp_path) -> None:
    shutil.copytree(story["data"] / "pipeline" / "graph", tmp_path / "data" / "pipeline" / "graph")
    broken = tmp_path / "policy"
    if torn == "cut":
        broken.mkdir()
        for path in policy.glob("*.*"):
            content = path.read_bytes()
            (broken / path.name).write_bytes(content[:1000] if path.suffix == ".safetensors" else content)
    done = run(tmp_path / "data", broken)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith(f"Failed: {broken}")
    assert "Traceback" not in done.stdout + done.stderr


def test_nonsense_options_are_refused_in_one_line(tmp_path) -> None:
    for options in (["--minutes", "-1"], ["--seed", "20"], ["--examples", "0"]):
        child = [sys.executable, "-m", "training_worker", "--data", str(tmp_path / "d"), *options]
        done = subprocess.run(child, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 2
        assert "must be" in done.stderr.splitlines()[-1]
        assert not (tmp_path / "d").exists()
