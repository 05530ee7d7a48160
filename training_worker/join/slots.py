"""Slots for parallel jobs on one machine: a process for each, which sees its share of the GPUs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

from ..worker import worker_info

TOKEN = "PROVE_JOIN_TOKEN"
PARENT, SLOTS = "PROVE_JOIN_PARENT", "PROVE_JOIN_SLOTS"  # in a slot's environment: its parent, and the number of slots
VISIBLE = "CUDA_VISIBLE_DEVICES"
EVERY = 0.5  # seconds between two checks of the slots


def serve(url: str, token: str, number: int, closing: threading.Event) -> int:
    """Run the slots until asked to stop, or until one of them ends. Return the largest of their exit codes."""
    devices = devices_here()
    running = [start_slot(url, token, number, share) for share in shares(devices, number)]
    while not closing.wait(EVERY) and all(one.poll() is None for one in running):
        pass
    for one in running:
        if one.poll() is None:
            one.send_signal(signal.SIGTERM)
    return max(abs(one.wait()) for one in running)


def start_slot(url: str, token: str, number: int, share: Sequence[str]) -> subprocess.Popen[bytes]:
    given = {TOKEN: token, PARENT: str(os.getpid()), SLOTS: str(number)}
    given |= {VISIBLE: ",".join(share)} if share else {}
    command = [sys.executable, "-m", "training_worker.join", url]
    return subprocess.Popen(command, env={**os.environ, **given}, start_new_session=True)


def devices_here() -> list[str]:
    """Return the GPUs that this process may use, as CUDA numbers or names them."""
    if VISIBLE in os.environ:
        return [name for name in os.environ[VISIBLE].split(",") if name]
    return [str(number) for number in range(len(worker_info.gpus()))]


def shares(devices: Sequence[str], number: int) -> list[Sequence[str]]:
    """Return which GPUs each slot sees: none is in two shares, unless there are more slots than GPUs."""
    if not devices:
        return [()] * number
    return [devices[slot::number] or (devices[slot % len(devices)],) for slot in range(number)]


def of_all() -> int:
    """Return how many slots this machine has."""
    return int(os.environ.get(SLOTS, "1"))


def get_shared_info() -> dict[str, Any]:
    """Return the info that all slots of a machine share: they are one worker, the process of which is their parent."""
    return {"pid": int(os.environ[PARENT])} if PARENT in os.environ else {}
