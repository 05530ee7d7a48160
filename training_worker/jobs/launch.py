"""Launcher of a run on several processes: writes accelerate's configuration into the run and starts its launcher.

The settings give the number of processes on all machines together. The operator of each machine sets PROVE_MACHINES
(their number), PROVE_MACHINE (0 is the first), PROVE_MAIN_ADDRESS and PROVE_MAIN_PORT (of the first).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..training.stop_signal import Stop
from .job_context import SPEC

FILE, FIRST = "accelerate.yaml", "first.pid"
TURN = 0.2  # seconds between two checks of the launcher
FSDP = {
    "fsdp_version": 2,
    "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
    "fsdp_reshard_after_forward": True,
    "fsdp_offload_params": False,
    "fsdp_state_dict_type": "FULL_STATE_DICT",
    "fsdp_cpu_ram_efficient_loading": True,
}
DEEPSPEED = {"gradient_accumulation_steps": "auto", "gradient_clipping": "auto", "offload_optimizer_device": "none"}


def is_first() -> bool:
    """Return whether this process reports events and writes files: it is the only one, or the first of several."""
    return os.environ.get("RANK", "0") == "0"


def processes(folder: Path) -> int:
    """Return how many processes a job needs that are not started yet: 1 if it needs no launcher."""
    if "WORLD_SIZE" in os.environ:
        return 1
    try:
        order = json.loads((folder / SPEC).read_text("utf-8"))
        count = order["spec"].get("processes", 1) if order["kind"] == "run" else 1
    except (OSError, ValueError, KeyError, AttributeError):
        return 1  # the work reports what is wrong with the specification
    return count if type(count) is int else 1


def configuration(spec: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Return accelerate's configuration for a run with these settings on this machine."""
    sharding = spec.get("sharding", "ddp")
    found: dict[str, Any] = {
        "compute_environment": "LOCAL_MACHINE",
        "distributed_type": {"ddp": "MULTI_GPU", "fsdp": "FSDP"}.get(sharding, "DEEPSPEED"),
        "num_processes": spec["processes"],
        "num_machines": int(environment.get("PROVE_MACHINES", "1")),
        "machine_rank": int(environment.get("PROVE_MACHINE", "0")),
        "main_process_ip": environment.get("PROVE_MAIN_ADDRESS", "127.0.0.1"),
        "main_process_port": int(environment.get("PROVE_MAIN_PORT", "0")),
        "mixed_precision": "bf16" if spec.get("precision") == "bf16" else "no",
        "use_cpu": spec.get("device") == "cpu",
        "rdzv_backend": "static",
    }
    if sharding == "fsdp":
        found["fsdp_config"] = {**FSDP, "fsdp_activation_checkpointing": bool(spec.get("gradient_checkpointing"))}
    elif sharding != "ddp":
        stage = int(sharding[-1])
        found["deepspeed_config"] = {**DEEPSPEED, "zero_stage": stage, "zero3_init_flag": False}
        if stage == 3:
            found["deepspeed_config"]["zero3_save_16bit_model"] = True
    return found


def as_yaml(values: Mapping[str, Any], indent: str = "") -> str:
    """Return plain YAML of names, numbers, texts and one level of nesting."""
    lines = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            lines += [f"{indent}{name}:", as_yaml(value, indent + "  ").rstrip("\n")]
        else:
            lines.append(f"{indent}{name}: {json.dumps(value)}")
    return "\n".join(lines) + "\n"


def launch(folder: Path, attempt: int, stop: Stop) -> int:
    """Start all processes of this machine and wait for them. Return the exit code. Passes on a request to stop."""
    spec = json.loads((folder / SPEC).read_text("utf-8"))["spec"]
    file = folder / "out" / FILE
    file.parent.mkdir(exist_ok=True)
    file.write_text(as_yaml(configuration(spec)), "utf-8")
    (folder / FIRST).unlink(missing_ok=True)
    command = [sys.executable, "-m", "accelerate.commands.launch", "--config_file", str(file), "--module"]
    child = subprocess.Popen([*command, "training_worker.jobs", str(folder), f"--attempt={attempt}"])
    requested = False
    while True:
        with suppress(subprocess.TimeoutExpired):
            return child.wait(TURN)
        if stop.requested and not requested:
            requested = request_stop(folder)


def request_stop(folder: Path) -> bool:
    """Ask the first process, which decides for all, to stop after this step. Return False if it is not there yet."""
    try:
        os.kill(int((folder / FIRST).read_text("utf-8")), signal.SIGTERM)
    except (OSError, ValueError):
        return False
    return True
