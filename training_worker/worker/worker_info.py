"""The info that a worker sends with each heartbeat: what it serves, its hardware, and how busy that is.

machine: queues (names), slots (jobs at once), host, pid, cores, memory_gb, gpus (name and memory_gb of each), python,
torch ("" if not installed), code (a digest), started (ISO 8601) | load: cpu and memory (shares of 0 to 1), gpu (a list,
a share for each), gpu_memory (the same of their memory), gpu_celsius (the temperature of each, 0 if it reports none) |
the site's own workers also: drained (whether it takes no more jobs) | a machine that joined also: benchmarks and models
(names), vllm (whether it is installed).
"""

from __future__ import annotations

import os
import platform
import shutil
import socket
import subprocess
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import psutil

from ..core.events import get_timestamp
from ..synthesis.shards import own_code

GPU_QUERY = "name,memory.total,memory.used,utilization.gpu,temperature.gpu"
PATIENCE = 3.0  # seconds that nvidia-smi may take
GB, MIB = 1e9, 1 << 20
LONGEST, MOST_GPUS, MOST_SLOTS, MOST_NAMES = 100, 64, 64, 500  # limits on another machine's info


def machine(queues: Sequence[str], slots: int) -> dict[str, Any]:
    """Return what does not change while the worker runs."""
    return {
        "queues": list(queues),
        "slots": slots,
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "cores": os.cpu_count() or 1,
        "memory_gb": round(psutil.virtual_memory().total / GB, 1),
        "gpus": [{"name": one["name"], "memory_gb": one["memory_gb"]} for one in gpus()],
        "python": platform.python_version(),
        "torch": torch_version(),
        "code": own_code(),
        "started": get_timestamp(),
    }


def load() -> dict[str, Any]:
    found = gpus()
    return {
        "cpu": round(psutil.cpu_percent() / 100, 3),
        "memory": round(psutil.virtual_memory().percent / 100, 3),
        "gpu": [one["busy"] for one in found],
        "gpu_memory": [one["used"] for one in found],
        "gpu_celsius": [one["celsius"] for one in found],
    }


def read_facts(data: Any) -> dict[str, Any]:
    """Return the valid part of another machine's info, in the form of `machine` and `load`."""
    given = data if isinstance(data, dict) else {}
    found: dict[str, Any] = {}
    for names, kind, read_one in FORMS:
        for name in names:
            value = given.get(name)
            if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
                found[name] = read_one(value)
    return found


def short(text: str) -> str:
    return text[:LONGEST]


def names_of(values: list[Any]) -> list[str]:
    return [short(one) for one in values[:MOST_NAMES] if isinstance(one, str)]


def slots(value: int) -> int:
    return min(max(1, value), MOST_SLOTS)


def shares(values: list[Any]) -> list[float]:
    return [float(one) for one in values[:MOST_GPUS] if isinstance(one, int | float)]


def of_gpus(values: list[Any]) -> list[dict[str, Any]]:
    sane = [one for one in values[:MOST_GPUS] if isinstance(one, dict)]
    return [
        {"name": short(str(one.get("name"))), "memory_gb": float(one["memory_gb"])}
        for one in sane
        if isinstance(one.get("memory_gb"), int | float)
    ]


FORMS: tuple[tuple[tuple[str, ...], Any, Any], ...] = (
    (("host", "python", "torch", "code", "started"), str, short),
    (("pid", "cores"), int, int),
    (("memory_gb", "cpu", "memory"), (int, float), float),
    (("slots",), int, slots),
    (("vllm",), bool, bool),
    (("benchmarks", "models"), list, names_of),
    (("gpu", "gpu_memory", "gpu_celsius"), list, shares),
    (("gpus",), list, of_gpus),
)


def torch_version() -> str:
    """Return torch's version without importing it, which takes seconds."""
    try:
        return version("torch")
    except PackageNotFoundError:
        return ""


def gpus() -> list[dict[str, Any]]:
    """Return name, memory in GB, temperature, and shares of memory and time in use of each GPU of nvidia-smi."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    command = [tool, f"--query-gpu={GPU_QUERY}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return [one for line in done.stdout.splitlines() if (one := read(line))]


def read(line: str) -> dict[str, Any] | None:
    """Parse one line of nvidia-smi; a number that a GPU does not report counts as 0."""
    cells = [cell.strip() for cell in line.split(",")]
    if len(cells) != len(GPU_QUERY.split(",")):
        return None
    name, (total, used, busy, celsius) = cells[0], map(number, cells[1:])
    share = round(used / total, 3) if total else 0.0
    return {
        "name": name,
        "memory_gb": round(total * MIB / GB, 1),
        "used": share,
        "busy": busy / 100,
        "celsius": celsius,
    }


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
