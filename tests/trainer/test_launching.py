"""A run on several processes: the arguments of accelerate, and two processes that train as one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from tests.waiting import PATIENCE
from training_worker.core.trajectory import Example, write_lines
from training_worker.jobs.launch import as_yaml, configuration, processes
from training_worker.policy.policy_folder import load_policy, save_policy

from .run_output import lines_of, rollouts_in

ROOT = Path(__file__).parents[2]

SCRIPT = """
import sys
from pathlib import Path
from tests.trainer.test_switches import uneven
from training_worker.training.grpo import train
from training_worker.config.grpo import GRPORun, TokenLimits

folder = Path(sys.argv[1])
train(
    GRPORun(
        policy=folder / "warm", data=folder / "train.jsonl", out=folder / "run", prompts=2, group=4, processes=2,
        device="cpu", limits=TokenLimits(turn=40, completion=200), max_steps=2, checkpoint_every=2, threads=1,
        zero_variance="resample", difficulty="pools",
    ),
    lambda event: print("told", event["event"], flush=True),
    attempt=uneven,
)
"""


@pytest.mark.parametrize("sharding", ["ddp", "fsdp", "zero2", "zero3"])
def test_accelerate_reads_what_is_written_for_it(sharding: str, tmp_path: Path) -> None:
    from accelerate.commands.config.config_args import ClusterConfig

    there = {"PROVE_MACHINES": "2", "PROVE_MACHINE": "1", "PROVE_MAIN_ADDRESS": "10.0.0.1", "PROVE_MAIN_PORT": "7"}
    wanted = configuration({"processes": 16, "sharding": sharding, "precision": "bf16"}, there)
    (tmp_path / "accelerate.yaml").write_text(as_yaml(wanted))
    assert yaml.safe_load((tmp_path / "accelerate.yaml").read_text()) == wanted
    read = ClusterConfig.from_yaml_file(str(tmp_path / "accelerate.yaml"))
    assert (read.num_processes, read.num_machines, read.machine_rank) == (16, 2, 1)
    assert (read.main_process_ip, read.main_process_port, read.mixed_precision) == ("10.0.0.1", 7, "bf16")
    kinds = {"ddp": "MULTI_GPU", "fsdp": "FSDP", "zero2": "DEEPSPEED", "zero3": "DEEPSPEED"}
    assert read.distributed_type.value == kinds[sharding]
    assert read.deepspeed_config.get("zero_stage") == {"zero2": 2, "zero3": 3}.get(sharding)


def test_a_launcher_is_needed_for_runs_of_several_processes_only(tmp_path: Path) -> None:
    assert processes(tmp_path) == 1
    orders = [
        ("run", {"processes": 2}, 2),
        ("run", {}, 1),
        ("dataset", {"processes": 2}, 1),
        ("run", {"processes": "x"}, 1),
    ]
    for kind, spec, wanted in orders:
        (tmp_path / "spec.json").write_text(json.dumps({"kind": kind, "spec": spec}))
        assert processes(tmp_path) == wanted


@pytest.mark.long
def test_two_processes_train_as_one_and_the_first_one_tells(
    tmp_path: Path, taught: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, examples: list[Example]
) -> None:
    save_policy(tmp_path / "warm", taught, tokenizer, {"made_by": "test"})
    write_lines(tmp_path / "train.jsonl", examples)
    (tmp_path / "run.py").write_text(SCRIPT)
    (tmp_path / "accelerate.yaml").write_text(as_yaml(configuration({"processes": 2, "device": "cpu"}, {})))
    command = [sys.executable, "-m", "accelerate.commands.launch", "--config_file", str(tmp_path / "accelerate.yaml")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, str(tmp_path / "run.py"), str(tmp_path)],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE, input="",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == "told rollouts told step told rollouts told step told checkpoint told ended".split()
    lines = lines_of(tmp_path / "run")
    assert [line["step"] for line in lines] == [1, 2]
    for line, rollouts in zip(lines, rollouts_in(tmp_path / "run"), strict=True):
        assert len(rollouts) == 8 + line["wasted_rollouts"], "those of both processes are kept, each once"
        groups = [{rollout.example for rollout in rollouts[i : i + 4]} for i in range(0, len(rollouts), 4)]
        assert all(len(group) == 1 for group in groups)
    before, after = (load_policy(folder).model for folder in (tmp_path / "warm", tmp_path / "run" / "policy"))
    assert not all(torch.equal(a, b) for a, b in zip(before.parameters(), after.parameters(), strict=True))
