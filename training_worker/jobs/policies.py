"""Policy that a run starts from: the shipped one, a model of the configured roots, or one that another run left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..core.models import BEST, OF_RUN, left_by
from ..core.trajectory import UnreadableData
from .job_context import JobRefusedError


def describe_checkpoint(checkpoint: str | None) -> str:
    return {None: "The policy", BEST: "The best checkpoint"}.get(checkpoint, str(checkpoint))


def policy_folder(name: Any, jobs: Path) -> Path:
    """Return the folder of `warm`, `run:<job>`, `run:<job>/checkpoint-<step>`, `run:<job>/best`, or a model's name.

    `jobs` holds the jobs' folders; the best is the kept checkpoint with the highest held-out reward. Raises
    JobRefusedError.
    """
    from ..policy.models import find_model

    if isinstance(name, str) and (found := OF_RUN.fullmatch(name)):
        job, checkpoint = found.groups()
        folder = left_by(jobs / job, checkpoint)
        if folder is None:
            raise JobRefusedError(
                f"{describe_checkpoint(checkpoint)} of run {job} is missing on this machine. "
                "A run keeps its last two checkpoints and the best by held-out reward."
            )
        return folder
    try:
        return find_model(str(name))
    except UnreadableData as error:
        raise JobRefusedError(str(error)) from None
