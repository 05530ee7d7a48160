"""Device that an attempt of a job computes on, reported when it starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.trajectory import UnreadableData
from .job_context import JobRefusedError

DRIVERS = (Path("/dev/nvidiactl"), Path("/dev/dxg"), Path("/dev/kfd"))  # NVIDIA's, that of WSL, AMD's


def machine_of(order: Mapping[str, Any], folder: Path, drivers: Sequence[Path] = DRIVERS) -> str:
    """Return `cpu` or the name of the GPU. Imports torch only if the job loads a model and there is a GPU driver."""
    kind, spec = order.get("kind"), order.get("spec", {})
    loads = kind in ("run", "sft", "trial") or (kind == "evaluate" and spec.get("source") == "folder")
    if not loads or spec.get("device", "auto") == "cpu" or not any(driver.exists() for driver in drivers):
        return "cpu"
    try:
        return gpu_of(str(kind), spec, folder)
    except (
        JobRefusedError,
        UnreadableData,
        OSError,
        ImportError,
    ):  # the work fails for the same reason, and reports it
        return "cpu"


def gpu_of(kind: str, spec: Mapping[str, Any], folder: Path) -> str:
    """Return the name of the GPU that the work uses, or `cpu`.

    Raises JobRefusedError, UnreadableData and ImportError.
    """
    from ..training.device import device_of, is_there, name_of
    from . import run, sft

    if kind == "evaluate":
        return name_of("cuda" if is_there() else "cpu")
    config = run.settings(spec, folder) if kind != "sft" else sft.settings(spec, folder)
    return name_of(device_of(config))
